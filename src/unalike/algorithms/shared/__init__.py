"""What methods share: client data, local SGD, optimizers, mixtures, layer splits, models without a server."""
