"""What methods share: client data, local SGD, optimisers, mixtures, layer splits, models without a server."""
