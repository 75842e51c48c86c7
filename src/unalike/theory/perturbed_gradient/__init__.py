"""Theory of FedProx and of perturbed gradients: bounds, and exact dynamics."""
