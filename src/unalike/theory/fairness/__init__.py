"""Theory of fair weights (GIFAIR): steps, convergence and generalization under a group penalty."""
