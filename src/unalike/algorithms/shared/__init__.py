"""What algorithms share: client data, local SGD, optimizers, mixtures, layer splits, decentralized
training."""
