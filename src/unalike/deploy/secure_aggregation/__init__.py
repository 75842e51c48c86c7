"""Secure aggregation: a server that trains on sums and never sees a single upload."""
