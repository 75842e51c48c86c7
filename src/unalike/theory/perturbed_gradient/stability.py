"""Stability of perturbed gradients on a quadratic: the multiplier of a round.

With u_i the model that everyone starts from, curvature h, and K local steps of length gamma, a round
multiplies the distance to the optimum by

    a(h) = 1 - 1/beta + (1 - gamma beta h)^K / beta.

In stiff directions the power vanishes and 1 - 1/beta is left: beyond -1 for beta < 1/2. The method itself is
that of Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


def round_multiplier(beta: float, step: float, curvature: ArrayLike, local_steps: int) -> Float64s:
    """a(h) for each curvature; beta = 0 is one gradient step of length K gamma.

    >>> round_multiplier(0.5, 0.5, [1.0], 20).round(4).tolist(), float(round_multiplier(0.0, 0.1, 2.0, 3))
    ([-0.9937], 0.3999999999999999)
    """
    if not 0 <= beta <= 1:
        raise ConfigError(f"beta must be between 0 and 1, but is {beta}.")
    h = np.asarray(curvature, np.float64)
    if beta == 0:
        return 1 - local_steps * step * h
    return 1 - 1 / beta + (1 - step * beta * h) ** local_steps / beta


def longest_stable_work(beta: float) -> float:
    """The largest K gamma h, with many small steps, at which a round does not grow: -ln(1 - 2 beta) / beta.

    >>> [round(longest_stable_work(beta), 2) for beta in (0.1, 0.3, 0.4, 0.49)], longest_stable_work(0.5)
    ([2.23, 3.05, 4.02, 7.98], inf)
    """
    if beta >= 0.5:
        return math.inf
    return 2.0 if beta == 0 else -math.log1p(-2 * beta) / beta


def stability_warning(beta: float, step: float, smoothness: float, local_steps: int) -> str | None:
    """Why these settings may not settle, in a sentence; None where they do."""
    if step * beta * smoothness >= 2:
        return f"a local step diverges: rate * beta * L is {step * beta * smoothness:.3g}, at or above 2."
    work = local_steps * step * smoothness
    if beta < 0.5 and work > longest_stable_work(beta):
        limit = longest_stable_work(beta)
        return f"rounds grow in stiff directions: K * rate * L is {work:.3g}, above {limit:.3g}."
    if beta <= 0.5:
        return "with beta at or below 0.5, stiff directions zigzag from round to round."
    return None
