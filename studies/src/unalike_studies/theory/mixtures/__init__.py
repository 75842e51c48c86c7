"""Theory of federated EM: an oracle on pooled data, inexact solvers, regret in changing environments."""
