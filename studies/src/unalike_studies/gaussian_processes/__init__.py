"""The published claims on federated Gaussian processes, as a study."""
