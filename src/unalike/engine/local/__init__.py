"""The engine for one machine: the host plans a round, XLA computes it on all cores."""
