"""Foundations: what is done before anything heavy is imported."""
