"""The published claims on throughput-optimal topologies, as a study."""
