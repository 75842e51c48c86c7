"""What the papers prove, as functions: bounds, exact quadratic problems, oracles. Nothing here trains."""
