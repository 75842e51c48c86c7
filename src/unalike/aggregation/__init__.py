"""Aggregation: the weighted sum of uploads, observed updates and checks."""
