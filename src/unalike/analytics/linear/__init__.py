"""Which coefficients fit all rows, exactly as if they were in one place?"""
