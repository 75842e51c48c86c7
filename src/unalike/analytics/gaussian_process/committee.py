"""Robust Bayesian committee machine: predictions of experts that each saw some of the rows, combined.

Deisenroth and Ng, Distributed Gaussian Processes (2015). Experts share a prior; an expert that learned
nothing at a place has no say there:

    b_j = 1/2 (log s_prior^2 - log s_j^2),    1/s^2 = sum_j b_j / s_j^2 + (1 - sum_j b_j) / s_prior^2,
    mean = s^2 sum_j b_j m_j / s_j^2

Every expert's predictions are sent, for every place that anyone asks about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import Float64s
from .posterior import Posterior, Prediction


def combine_experts(experts: Sequence[Posterior], x: Float64s) -> Prediction:
    """The committee's mean and variance of the function at rows x.

    >>> from .kernels import Kernel
    >>> kernel = Kernel("rbf")
    >>> one = Posterior(kernel, kernel.vector(1.0, 0.1, 0.5), np.zeros((1, 1)), np.ones(1))
    >>> place = np.array([[0.2]])
    >>> alone, both = one.predict(place).variance[0], combine_experts([one, one], place).variance[0]
    >>> bool(both < alone)
    True
    """
    first = experts[0]
    prior = float(first.kernel.signal_variance(first.params))
    said = [expert.predict(x) for expert in experts]
    variances = np.maximum(np.stack([each.variance for each in said]), 1e-12 * prior)
    say = 0.5 * (np.log(prior) - np.log(variances))
    precision = (say / variances).sum(axis=0) + (1 - say.sum(axis=0)) / prior
    mean = (say * np.stack([each.mean for each in said]) / variances).sum(axis=0) / precision
    return Prediction(mean, 1 / precision, first.noise)
