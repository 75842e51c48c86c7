"""Theory of client sampling: bounds, comparisons, coverage and quadratic problems."""
