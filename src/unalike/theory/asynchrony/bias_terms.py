"""Bias terms of asynchronous training: the cost of weights that are not the importances.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates", 2023). A step n that expects weights q_i(n) of clients with importances p_i
misrepresents those that it may hear, W_n, and leaves out the others: the squared gradient of the true
objective has, beside the terms of the surrogate's bound, up to constants,

    P = mean_n chi_n^2 sum_{i in W_n} q~_i(n) [L_i - L_i*],    U = mean_n sum_{i not in W_n} p_i [L_i - L_i*],

and where weights are the same over windows, chi^2 sum_i q~_i [L_i - L_i*] alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s
from .objective import Surrogate


class StepBias(NamedTuple):
    """What single steps' weights cost, up to constants."""

    misrepresented: float
    """P: those who may be heard count otherwise than they should."""
    unheard: float
    """U: those who have no chance in a step are left out of it."""

    @property
    def total(self) -> float:
        """Both."""
        return self.misrepresented + self.unheard


def step_bias(importance: ArrayLike, expected: ArrayLike, gaps: ArrayLike) -> StepBias:
    """P and U of steps (a row of `expected` weights each) for clients whose losses are `gaps` above their
    least.

    >>> step_bias([0.5, 0.5], [[1.0, 1.0], [0.5, 0.5]], [1.0, 3.0])
    StepBias(misrepresented=0.0, unheard=0.0)
    >>> step_bias([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [1.0, 3.0])
    StepBias(misrepresented=0.5, unheard=1.0)
    """
    p, steps, above = (np.asarray(a, np.float64) for a in (importance, expected, gaps))
    if steps.ndim != 2 or steps.shape[1:] != p.shape or above.shape != p.shape or (above < 0).any():
        raise ConfigError(
            "a bias needs a row of weights for each step, and one gap of at least 0 per client."
        )
    pairs = [_one_step(p, row, above) for row in steps]
    return StepBias(*(float(part) for part in np.mean(pairs, axis=0)))


def _one_step(p: Float64s, row: Float64s, gaps: Float64s) -> tuple[float, float]:
    """In a step: chi^2 over those who may be heard, times their mean gap, and the gaps of the others."""
    heard = row > 0
    if not heard.any():
        return 0.0, float(p @ gaps)
    shares = row[heard] / row.sum()
    chi = float(((p[heard] - shares) ** 2 / shares).sum())
    return chi * float(shares @ gaps[heard]), float(p[~heard] @ gaps[~heard])


def lasting_bias(minimized: Surrogate, gaps: ArrayLike) -> float:
    """chi^2 sum_i q~_i [L_i - L_i*]: what is left however long training goes on; 0 for the right weights.

    >>> lasting_bias(Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2])), [1.0, 1.0])
    0.5625
    """
    left = float(minimized.normalized @ np.asarray(gaps, np.float64))
    return round(minimized.chi_square() * left, 12) if left else 0.0
