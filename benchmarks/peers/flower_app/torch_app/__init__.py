"""FedAvg with Flower and PyTorch, as its users write it."""
