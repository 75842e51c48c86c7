"""Moving with the others: what is proved of FedProx and of perturbed gradients, and what is exact."""
