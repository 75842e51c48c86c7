"""Aggregation: the weighted sum of uploads, norm bounds, robust rules, observed updates and checks."""
