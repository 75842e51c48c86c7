"""Theory of federated EM: what makes a surrogate."""
