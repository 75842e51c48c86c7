"""Federated learning for clients that are not alike."""
