"""Theory of asynchronous training: the objective a policy minimises, its bound, and quadratic problems."""
