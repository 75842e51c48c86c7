"""Differential privacy: clipping, noise and accounting, by the server or by each client."""
