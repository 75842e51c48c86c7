"""Theory as functions: bounds, exact quadratic problems, oracles. Nothing here trains."""
