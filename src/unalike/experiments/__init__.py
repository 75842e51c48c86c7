"""Experiments: configuration, building, comparison, tuning and restarts."""
