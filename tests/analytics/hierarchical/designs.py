"""Designs that the tests of hierarchical models share."""

import numpy as np

from unalike.analytics.design import Design
from unalike.data import Federation


def related(devices=6, width=3, correlation=0.8, noise=0.5, rows=(8, 30), seed=0, test=0.0):
    """Devices whose coefficients are correlated, with the coefficients (one row each)."""
    rng = np.random.default_rng(seed)
    covariance = (1 - correlation) * np.eye(devices) + correlation
    truth = np.linalg.cholesky(covariance) @ rng.normal(size=(devices, width))
    owners = np.repeat(np.arange(devices), rng.integers(rows[0], rows[1] + 1, devices))
    x = rng.normal(size=(len(owners), width))
    y = np.einsum("nd,nd->n", x, truth[owners]) + noise * rng.normal(size=len(owners))
    federation = Federation.from_owners(x, y, owners, classes=None, test_fraction=test, seed=seed)
    return Design.of(federation, intercept=False), truth


def drawn_from_a_population(devices, mean, variance, rows=30, noise=1.0, seed=0):
    """Devices whose coefficients are independent draws of one normal distribution."""
    rng = np.random.default_rng(seed)
    width = len(mean)
    truth = np.asarray(mean) + np.sqrt(variance) * rng.normal(size=(devices, width))
    owners = np.repeat(np.arange(devices), rows)
    x = rng.normal(size=(len(owners), width))
    y = np.einsum("nd,nd->n", x, truth[owners]) + noise * rng.normal(size=len(owners))
    return Design.of(Federation.from_owners(x, y, owners, classes=None), intercept=False), truth
