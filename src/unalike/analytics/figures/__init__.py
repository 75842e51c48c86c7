"""Figures of estimates, of clients, and of Gaussian processes."""
