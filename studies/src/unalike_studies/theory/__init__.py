"""What the papers prove, as functions that only studies need: oracles, exact dynamics, bounds."""
