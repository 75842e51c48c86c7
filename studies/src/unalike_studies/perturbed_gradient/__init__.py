"""The published claims on perturbed gradients and FedProx, as a study."""
