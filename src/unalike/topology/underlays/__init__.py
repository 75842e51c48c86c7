"""What overlays run on: maps, measured networks, links and workloads."""
