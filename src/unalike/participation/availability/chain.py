"""Two-state Markov chains of client availability: mean and correlation.

A client is a chain of two states, away (0) and there (1). The share pi of rounds in which it is there and the
correlation lambda of one round with the next fix the chain (Rodio, Faticanti, Marfoq, Neglia and Leonardi,
"Federated Learning under Heterogeneous and Correlated Client Availability", 2023):

    P(0 -> 1) = (1 - lambda) pi,      P(1 -> 1) = lambda + (1 - lambda) pi,

and back, from the probabilities s0 and s1 of staying away and staying there,

    pi = (1 - s0) / (2 - s0 - s1),      lambda = s0 + s1 - 1.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


def transition_matrix(active: float, correlation: float) -> Float64s:
    """The 2 x 2 matrix of one client, away first.

    >>> transition_matrix(0.75, 0.2)
    array([[0.4, 0.6],
           [0.2, 0.8]])
    """
    pi, correlated = feasible(active, correlation)
    arrive, leave = (1 - correlated) * pi, (1 - correlated) * (1 - pi)
    return np.array([[1 - arrive, arrive], [leave, 1 - leave]])


def from_transitions(stay_away: ArrayLike, stay_active: ArrayLike) -> tuple[Float64s, Float64s]:
    """Availability and correlation, from the probabilities of staying away and of staying there.

    >>> from_transitions(0.4, 0.8)
    (array(0.75), array(0.2))
    """
    away, there = _same_shape(stay_away, stay_active, "the probabilities of staying")
    for stay in (away, there):
        _require(stay, (stay >= 0) & (stay <= 1), "the probability of staying must be between 0 and 1")
    _require(
        away,
        away + there < 2,
        "a client that never comes and never leaves has no availability: one probability of staying must be "
        "below 1",
    )
    return np.asarray((1 - away) / (2 - away - there)), np.asarray(away + there - 1)


def mean_run(active: ArrayLike, correlation: ArrayLike) -> tuple[Float64s, Float64s]:
    """How many rounds a client stays there, and how many it stays away, on average.

    >>> mean_run(0.1, 0.9)
    (array(11.11111111), array(100.))
    """
    pi, correlated = feasible(active, correlation)
    with np.errstate(divide="ignore"):
        there, away = 1 / ((1 - correlated) * (1 - pi)), 1 / ((1 - correlated) * pi)
    return np.asarray(there), np.asarray(away)


def lowest_correlation(active: ArrayLike) -> Float64s:
    """How strongly a client can alternate: max(1 - 1/pi, 1 - 1/(1 - pi)), written without dividing by zero.

    >>> lowest_correlation([0.0, 0.5, 0.8])
    array([ 0.  , -1.  , -0.25])
    """
    pi = np.asarray(active, np.float64)
    rarer, commoner = np.minimum(pi, 1 - pi), np.maximum(pi, 1 - pi)
    return 0.0 - rarer / commoner


def feasible(active: ArrayLike, correlation: ArrayLike) -> tuple[Float64s, Float64s]:
    """Both numbers of every client, checked; a correlation that no chain has becomes the lowest possible one.

    >>> feasible([1.0, 0.5], 0.9)
    (array([1. , 0.5]), array([0. , 0.9]))
    """
    pi, given = _same_shape(active, correlation, "active and correlation")
    _require(pi, (pi >= 0) & (pi <= 1), "active must be between 0 and 1")
    _require(given, (given >= -1) & (given < 1), "correlation must be at least -1 and below 1")
    # Who is always or never there has no correlation; zero is what a chain without memory has.
    given = np.where((pi == 0) | (pi == 1), 0.0, given)
    lowest = lowest_correlation(pi)
    _warn_below(given, lowest)
    return pi, np.maximum(given, lowest)


def _warn_below(correlation: Float64s, lowest: Float64s) -> None:
    below = np.flatnonzero(correlation < lowest - 1e-12)
    if len(below):
        worst = below[0]
        warnings.warn(
            f"{len(below)} client(s) cannot alternate as strongly as their correlation says; client {worst}, "
            f"for one, got {lowest.flat[worst]:.4g} instead of {correlation.flat[worst]:.4g}.",
            stacklevel=4,
        )


def _same_shape(first: ArrayLike, second: ArrayLike, names: str) -> tuple[Float64s, Float64s]:
    try:
        one, two = np.broadcast_arrays(np.asarray(first, np.float64), np.asarray(second, np.float64))
    except (TypeError, ValueError):
        raise ConfigError(f"{names} must be numbers, or one number per client for both.") from None
    return one, two


def _require(values: Float64s, allowed: ArrayLike, sentence: str) -> None:
    wrong = np.flatnonzero(~np.asarray(allowed))
    if len(wrong):
        whose = f" for client {wrong[0]}" if values.ndim else ""
        raise ConfigError(f"{sentence}, but is {values.flat[wrong[0]]:g}{whose}.")
