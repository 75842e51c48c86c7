"""Are populations far enough apart for a Gaussian mixture to be found? (Conditions of FEM-OMD, measured.)

The rows of one class are one population, as in :mod:`unalike.data.streams.changing_mixture`: its mean is that
of its rows, and rows are scaled so that populations have variance one on average, as the theory assumes. The
conditions are those of :mod:`unalike.theory.mixtures.em_conditions` (Marfoq's doctoral thesis, 2023, section
4.4.3). They are sufficient, not necessary: training often works far outside them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..data.federation import Federation
from ..errors import ConfigError
from ..theory.mixtures.em_conditions import (
    SEPARATION,
    START,
    START_BEFORE_KMEANS,
    needed_rows,
    needed_separation,
    smallest_distances,
    weights_start_holds,
)
from ..typing import Float64s


@dataclass(frozen=True)
class Condition:
    """One condition: what it asks for, what was found, and whether it holds."""

    name: str
    asked: str
    found: str
    holds: bool | None
    """None where the data alone do not say."""


@dataclass(frozen=True)
class MixtureAdvice:
    """The conditions, and the numbers they are made of."""

    components: int
    dimension: int
    least_weight: float
    """beta."""
    distance: float
    """The smallest between two means, in standard deviations of a population."""
    needed: float
    constant: float
    """What stands for 128 here: distance / sqrt(log(m / beta))."""
    rows: float
    """Rows of a step for the accuracy, in units of the theory's unknown constant."""
    conditions: tuple[Condition, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def advise_mixture(
    federation: Federation, least_weight: float | None = None, accuracy: float = 0.1, exchanges: int = 5
) -> MixtureAdvice:
    """Check the conditions under which FEM-OMD finds the classes of these clients as Gaussian components.

    Args:
        federation: clients whose labels name the population of each row.
        least_weight: beta, the smallest true mixture weight of any client in any step; the smallest share of
            a class at a client when not given.
        accuracy: eps, to which means and weights are wanted.
        exchanges: K, exchanges of expectation and maximization in a step.
    """
    if federation.classes is None:
        raise ConfigError("the populations of a mixture are classes here, but the targets are values.")
    if not 0 < accuracy < 1:
        raise ConfigError(f"accuracy must be above 0 and below 1, but is {accuracy:g}.")
    means = population_means(federation)
    m, d = means.shape
    shares = class_shares(federation)
    least = float(shares.min()) if least_weight is None else least_weight
    if least > 0:
        needed = needed_separation(m, least)
        rows = needed_rows(d, m, least, accuracy, exchanges=exchanges)
    else:
        needed = rows = float("inf")
    distance = float(smallest_distances(means).min())
    return MixtureAdvice(
        components=m,
        dimension=d,
        least_weight=least,
        distance=distance,
        needed=needed,
        constant=0.0 if needed == float("inf") else SEPARATION * distance / needed,
        rows=rows,
        conditions=_conditions(shares, least, distance, needed, rows),
    )


def population_means(federation: Federation) -> Float64s:
    """The mean of every class that has rows, in units in which its rows have variance one on average."""
    y = np.asarray(federation.train.y)
    x = np.asarray(federation.train.x, np.float64).reshape(len(y), -1)
    there = np.unique(y)
    means = np.stack([x[y == label].mean(axis=0) for label in there])
    spread = np.sqrt(((x - means[np.searchsorted(there, y)]) ** 2).mean())
    if len(there) < 2 or not spread > 0:
        raise ConfigError("a mixture needs at least two classes, whose rows are not all the same.")
    return means / spread


def class_shares(federation: Federation) -> Float64s:
    """The share of every class that anybody has, at every client with rows, as (clients, classes)."""
    train, classes = federation.train, int(federation.classes or 0)
    owners = train.owners.astype(np.int64)
    counts = np.bincount(owners * classes + train.y, minlength=len(federation) * classes)
    table = counts.reshape(-1, classes).astype(np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return table / table.sum(axis=1, keepdims=True)


def _conditions(
    shares: Float64s, least: float, distance: float, needed: float, rows: float
) -> tuple[Condition, ...]:
    m = shares.shape[1]
    equal = np.full(m, 1 / m)
    near = sum(weights_start_holds(equal, own) for own in shares)
    radius, wide = START * distance, START_BEFORE_KMEANS * distance
    return (
        Condition("separation (27)", f"means {needed:.4g} apart", f"{distance:.4g}", distance >= needed),
        Condition(
            "first means (28)",
            f"within {radius:.3g} of the true ones, or {wide:.3g} before a k-means step",
            "not known before training",
            None,
        ),
        Condition(
            "first weights (29)",
            "equal weights within half of each true one",
            f"{near} of {len(shares)} clients",
            near == len(shares),
        ),
        Condition("positive weights (30)", "above 0", f"{least:.3g}", 0 < least <= 1 / m + 1e-12),
        Condition("rows of a step", f"{rows:.3g} times a constant that is not published", "", None),
    )
