"""Signals of an update: numbers that distinguish training from noise.

With u = upload - sent model, over its coordinates:

    KS distance       max_x |F_u(x) - Phi(x)| for u / std(u)     near 0 for Gaussian noise, larger for SGD
    excess kurtosis   mean(u^4) / mean(u^2)^2 - 3                0 for Gaussian noise, large for SGD
    power law         ln std(u_t) = a + slope ln t               a perfect line for noise that is scaled down

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning", 2021, describe
the attack and leave its detection open. All functions are of plain arrays of the host.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import scipy

from ...typing import Array, Float64s, Int64s

MOST_SORTED = 20_000
"""Coordinates that are compared with a Normal; of more, so many evenly spaced ones."""
STILL = 1e-7
"""An update that is so much shorter than the model is none: it is below the rounding of the model."""


class PowerLaw(NamedTuple):
    """A line through logarithms, and how well it fits (1 is perfect); NaN where there are too few points."""

    slope: float
    fit: float


def cosine(a: Array, b: Array) -> float:
    """Of the angle between two vectors; NaN where one of them is zero.

    >>> cosine(np.array([1.0, 0.0]), np.array([1.0, 1.0])).__round__(3), cosine(np.zeros(2), np.ones(2))
    (0.707, nan)
    """
    lengths = np.sqrt(inner_product(a, a)) * np.sqrt(inner_product(b, b))
    return float(inner_product(a, b) / lengths) if lengths > 0 else float("nan")


def inner_product(a: Array, b: Array) -> float:
    """The sum of products, on one core: threads for so short a sum wait for each other longer than they
    work."""
    return float(np.einsum("i,i->", a, b))


def is_zero(update: Float64s, sent: Float64s) -> bool:
    """Whether nothing was learnt: the upload is what was sent, up to rounding."""
    length = np.sqrt(inner_product(update, update))
    return bool(length == 0 or length < STILL * np.sqrt(inner_product(sent, sent)))


def distance_to_normal(update: Float64s) -> float:
    """The Kolmogorov-Smirnov distance of standardized entries to a Normal; NaN for constant updates."""
    spread = update.std()
    if not spread > 0:
        return float("nan")
    some = update[:: -(-len(update) // MOST_SORTED)]
    below = scipy.special.ndtr(np.sort(some) / spread)
    ranks = np.arange(len(some) + 1) / len(some)
    return float(max(np.abs(ranks[1:] - below).max(), np.abs(ranks[:-1] - below).max()))


def excess_kurtosis(update: Float64s) -> float:
    """Of the entries that moved: parameters that are never used say nothing."""
    moved = update[update != 0]
    square = np.square(moved).mean() if len(moved) else 0.0
    return float(np.square(np.square(moved) / square).mean() - 3) if square > 0 else float("nan")


def share_beyond(update: Float64s, deviations: float = 3.0) -> float:
    """Of the entries that moved, the share beyond so many standard deviations (0.0027 for a Normal)."""
    moved = update[update != 0]
    return float((np.abs(moved) > deviations * moved.std()).mean()) if len(moved) else float("nan")


def share_of_zeros(update: Float64s) -> float:
    """The share of entries that are exactly zero, such as weights of pixels that are always dark."""
    return float((update == 0).mean())


def layer_spread(update: Float64s, sizes: Int64s) -> float:
    """How much the deviations of layers differ, as the deviation of their logarithms; 0 for equal noise.

    >>> layer_spread(np.array([1.0, -1.0, 1.0, -1.0]), np.array([2, 2]))
    0.0
    """
    parts = np.split(update, np.cumsum(sizes)[:-1])
    spreads = np.array([np.sqrt(np.square(part).mean()) for part in parts if len(part) and part.any()])
    return float(np.log(spreads).std()) if len(spreads) else float("nan")


def power_law(times: Float64s, spreads: Float64s) -> PowerLaw:
    """How spreads fall with time.

    >>> found = power_law(np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.5, 0.25]))
    >>> round(found.slope, 6), round(found.fit, 6)
    (-1.0, 1.0)
    """
    known = (spreads > 0) & (times > 0)
    if known.sum() < 3:
        return PowerLaw(float("nan"), float("nan"))
    x, y = np.log(times[known]), np.log(spreads[known])
    slope, start = np.polyfit(x, y, 1)
    left, all_of_it = np.square(y - start - slope * x).sum(), np.square(y - y.mean()).sum()
    return PowerLaw(float(slope), float(1 - left / all_of_it) if all_of_it > 0 else float("nan"))


def digest(vector: Array) -> str:
    """What tells two uploads apart, bit by bit, without showing them."""
    return hashlib.sha256(np.ascontiguousarray(vector).tobytes()).hexdigest()
