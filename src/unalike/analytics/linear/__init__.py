"""Federated linear models: the coefficients of the pooled fit, exactly."""
