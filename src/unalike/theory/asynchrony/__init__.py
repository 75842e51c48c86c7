"""Theory of asynchronous training: the objective a policy minimizes, its bound, and quadratic problems."""
