"""Underlay networks: maps, measured networks, links and workloads."""
