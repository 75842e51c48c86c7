"""Hyper-parameter candidates: points of a method's ranges.

    quasi-random    points that fill the ranges evenly: u_k = frac(u_0 + k a), a_j = g^-j, g^(d+1) = g + 1
    random          points drawn independently
    grid            a grid of as many points as there may be, and quasi-random ones for the rest
    tpe             quasi-random points first, then those that the trials so far promise most of

All of a method's settings are drawn jointly, so that a method with two settings sees as many learning rates
as one with none (a grid cannot). Learning rates and other positive fractions are on a logarithmic scale. The
sequence is Roberts' "The Unreasonable Effectiveness of Quasirandom Sequences", 2018.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..algorithms import algorithm_registry
from ..core.random import generator
from ..errors import ConfigError, unknown
from ..typing import Document, Float64s
from .config import Experiment

RATES = (10**-2.5, 10**0.0)
"""The smallest and the largest learning rate that is tried."""
QUASI_RANDOM, RANDOM, GRID, TPE = SEARCHES = ("quasi-random", "random", "grid", "tpe")
Settings = Document


def candidates(
    experiment: Experiment, budget: int, search: str = SEARCHES[0], rates: tuple[float, float] = RATES
) -> list[Settings]:
    """The settings that are tried, as many for every method: its defaults, then points of its ranges."""
    check_search(budget, search, rates)
    ranges = search_space(experiment, rates)
    rng = generator(experiment.seed, f"tuning {experiment.algorithm}")
    regular = grid(ranges, budget - 1) if search == GRID else []
    draw = _draw_points if search == RANDOM else _spread
    drawn = [
        {name: _value(values, u) for (name, values), u in zip(ranges.items(), point, strict=True)}
        for point in draw(budget - 1 - len(regular), len(ranges), rng)
    ]
    return [_defaults(experiment, ranges), *regular, *drawn]


def check_search(budget: int, search: str, rates: tuple[float, float]) -> None:
    """Raise where nothing could be tried."""
    if search not in SEARCHES:
        raise unknown("search", search, SEARCHES)
    if budget < 1 or not 0 < rates[0] <= rates[1] < math.inf:
        raise ConfigError("tuning needs a budget of at least 1 trial, and positive learning rates in order.")


def grid(ranges: Mapping[str, Sequence[Any]], most: int) -> list[Settings]:
    """A grid of at most so many points: every setting gets as many values as the others, while it has them.

    >>> [point["lam"] for point in grid({"learning_rate": (0.01, 1.0), "lam": (1, 2)}, 4)]
    [1, 2, 1, 2]
    """
    levels = dict.fromkeys(ranges, 1)
    limits = {name: math.inf if is_continuous(values) else len(values) for name, values in ranges.items()}
    growing = True
    while growing:
        growing = False
        for name in sorted(levels, key=levels.__getitem__):
            more = {**levels, name: levels[name] + 1}
            if more[name] <= limits[name] and math.prod(more.values()) <= most:
                levels, growing = more, True
                break
    ticks = [[_value(ranges[name], _tick(k, n)) for k in range(n)] for name, n in levels.items()]
    points = [dict(zip(ranges, point, strict=True)) for point in product(*ticks)]
    return points[:most]


def _tick(k: int, count: int) -> float:
    """The k-th of so many places from end to end; a single one is in the middle."""
    return 0.5 if count == 1 else min(k / (count - 1), 1 - 1e-12)


def search_space(experiment: Experiment, rates: tuple[float, float] = RATES) -> Mapping[str, Sequence[Any]]:
    """What is searched for a method: learning rates, and values of its own settings that are not given."""
    own = getattr(algorithm_registry[experiment.algorithm], "grid", {})
    given = {**experiment.model_dump(exclude_none=True), **experiment.options}
    return {"learning_rate": rates, **{name: values for name, values in own.items() if name not in given}}


def _spread(count: int, dimensions: int, rng: np.random.Generator) -> Float64s:
    """So many points that fill the unit cube evenly, from a random first one."""
    root = 2.0
    for _ in range(60):  # g^(d+1) = g + 1
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return (rng.random(dimensions) + np.arange(count)[:, None] * steps) % 1.0


def _draw_points(count: int, dimensions: int, rng: np.random.Generator) -> Float64s:
    """So many points of the unit cube, drawn independently."""
    return rng.random((count, dimensions))


def is_continuous(values: Sequence[Any]) -> bool:
    """Whether values are the ends and the middle of a range: where all are positive fractions."""
    return all(isinstance(value, float) and value > 0 for value in values)


def _value(values: Sequence[Any], u: float) -> Any:
    """The value at u in [0, 1): between the ends of a range, else one of them."""
    if is_continuous(values):
        low, high = math.log10(min(values)), math.log10(max(values))
        return float(f"{10 ** (low + u * (high - low)):.4g}")
    return values[int(u * len(values))]


def _defaults(experiment: Experiment, names: Iterable[str]) -> Settings:
    """What the experiment does without tuning; a setting that follows another has no value of its own."""
    parameters = inspect.signature(algorithm_registry[experiment.algorithm]).parameters
    values = {name: parameters[name].default for name in names if name in parameters}
    values["learning_rate"] = experiment.learning_rate
    if "server_learning_rate" in names:
        values["server_learning_rate"] = parameters["server_optimizer"].default.learning_rate
    return {name: values[name] for name in names if values.get(name) is not None}
