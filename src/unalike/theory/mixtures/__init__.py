"""Theory of federated EM: an oracle on pooled data, inexact solvers, and what makes a surrogate."""
