"""Shared parts of studies: summaries of runs, and comparisons of personalized methods on real data."""
