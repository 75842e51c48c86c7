"""Training with free-riders, simulated in one dimension beside its closed forms."""
