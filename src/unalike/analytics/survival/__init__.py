"""Federated survival analysis."""
