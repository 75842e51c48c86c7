"""Theory of federated EM: surrogate functions."""
