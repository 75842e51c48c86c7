"""Theory that only studies need: oracles, exact dynamics, bounds."""
