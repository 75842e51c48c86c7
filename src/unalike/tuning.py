"""Which settings suit each method, without a look at the test rows?

Every method gets the same number of trials. A trial trains on the training rows and is judged by the
validation rows of the same clients; the best settings of each method are then trained on both, and only those
are tested.

    grid      learning rates evenly spaced on a logarithmic scale, times the method's own values
    random    the same ranges, drawn at random: logarithmically for learning rates and other positive numbers
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .algorithms import algorithms
from .comparing import judge
from .config import Experiment
from .data import Federation
from .errors import ConfigError
from .experiment import make_federation, make_task, run_experiment
from .newcomers import set_apart
from .random import generator
from .runs import higher_is_better
from .training import Observer

RATES = (10**-2.5, 10**0.0)
"""The smallest and the largest learning rate that is tried."""
VALIDATION = 0.2
"""The part of each client's rows that judges trials, unless the experiment says otherwise."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One setting of one method, and how well it did on validation rows."""

    method: str
    settings: Settings
    score: float


def tune(
    variants: Mapping[str, Experiment],
    *,
    budget: int = 12,
    search: str = "grid",
    rates: tuple[float, float] = RATES,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
) -> dict[str, list[Trial]]:
    """All trials of every method, the best first; a trial that diverged has the score NaN and comes last."""
    some = with_validation(next(iter(variants.values())))
    federation = make_federation(some)
    if not len(federation.validation.y):
        raise ConfigError(
            "no client has rows enough for validation; choose another validation_fraction or test_fraction."
        )
    task = make_task(some, federation)
    if some.unseen:  # who joins after training has no part in choosing settings either
        federation = set_apart(federation, some.unseen, some.seed)[0]
    answer = {}
    for name, experiment in variants.items():
        points = candidates(experiment, budget, search, rates)
        trials = []
        for number, settings in enumerate(points, start=1):
            announce(f"{name}, trial {number} of {len(points)}")
            chosen = applied(with_validation(experiment), settings)
            run = run_experiment(
                chosen.model_copy(update={"evaluate_every": 0, "unseen": 0.0}),
                federation=federation,
                task=task,
                observer=observer,
            )
            scores = run.metrics()[judge(federation).replace("test", "validation")]
            trials.append(Trial(name, settings, float(scores[-1])))
        answer[name] = ranked(trials, higher_is_better(judge(federation)))
    return answer


def candidates(
    experiment: Experiment, budget: int, search: str = "grid", rates: tuple[float, float] = RATES
) -> list[Settings]:
    """The settings that are tried: at most `budget`, the same for every method."""
    if search not in ("grid", "random"):
        raise ConfigError(f"search must be grid or random, not {search!r}.")
    if budget < 1 or not 0 < rates[0] <= rates[1] < math.inf:
        raise ConfigError("tuning needs a budget of at least 1 trial, and positive learning rates in order.")
    maker = algorithms[experiment.algorithm]
    own = {k: v for k, v in getattr(maker, "grid", {}).items() if k not in experiment.options}
    rng = generator(experiment.seed, f"tuning {experiment.algorithm}")
    return _grid(own, budget, rates, rng) if search == "grid" else _drawn(own, budget, rates, rng)


def applied(experiment: Experiment, settings: Settings) -> Experiment:
    """The experiment with these settings; those it has no field for are the algorithm's own."""
    fields = {k: v for k, v in settings.items() if k in Experiment.model_fields}
    own = {k: v for k, v in settings.items() if k not in fields}
    return experiment.model_copy(update={**fields, "options": {**experiment.options, **own}})


def ranked(trials: Sequence[Trial], higher: bool) -> list[Trial]:
    """The best first; what is not a number comes last, and the earlier of two equals comes first."""
    sign = -1.0 if higher else 1.0
    return sorted(trials, key=lambda trial: math.inf if math.isnan(trial.score) else sign * trial.score)


def with_validation(experiment: Experiment) -> Experiment:
    """The experiment with validation rows, which are set apart from the training rows."""
    if experiment.validation_fraction:
        return experiment
    room = min(VALIDATION, (1.0 - experiment.test_fraction) / 2)
    return experiment.model_copy(update={"validation_fraction": room})


def final_federation(experiment: Experiment) -> Federation:
    """The clients on which the chosen settings are trained: validation rows are training rows again, and
    test rows are those that no trial of this seed has seen."""
    return make_federation(without_validation(experiment)).with_validation_in_training()


def without_validation(experiment: Experiment) -> Experiment:
    """The experiment that trains on validation rows as well: test rows do not depend on them."""
    return experiment.model_copy(update={"validation_fraction": 0.0})


def _grid(
    own: Mapping[str, Sequence[Any]], budget: int, rates: tuple[float, float], rng: np.random.Generator
) -> list[Settings]:
    """Every rate with every combination of own values where that leaves three rates at least; else as many
    rates as trials, each with another combination."""
    combinations = [dict(zip(own, values, strict=True)) for values in itertools.product(*own.values())]
    each = budget // len(combinations)
    if each >= 3 and each * len(combinations) == budget:
        return [{"learning_rate": rate, **rest} for rate in _spaced(rates, each) for rest in combinations]
    order = itertools.cycle(rng.permutation(len(combinations)))
    return [
        {"learning_rate": rate, **combinations[k]}
        for rate, k in zip(_spaced(rates, budget), order, strict=False)
    ]


def _drawn(
    own: Mapping[str, Sequence[Any]], budget: int, rates: tuple[float, float], rng: np.random.Generator
) -> list[Settings]:
    return [
        {
            "learning_rate": _between(rates, rng),
            **{name: _some(values, rng) for name, values in own.items()},
        }
        for _ in range(budget)
    ]


def _some(values: Sequence[Any], rng: np.random.Generator) -> Any:
    """A value between the smallest and the largest where they are positive fractions, else one of them."""
    continuous = all(isinstance(value, float) and value > 0 for value in values)
    if continuous:
        return _between((min(values), max(values)), rng)
    return values[int(rng.integers(len(values)))]


def _between(ends: tuple[float, float], rng: np.random.Generator) -> float:
    low, high = map(math.log10, ends)
    return _short(10 ** rng.uniform(low, high))


def _spaced(ends: tuple[float, float], count: int) -> list[float]:
    low, high = map(math.log10, ends)
    # A single rate is the middle one; otherwise both ends are tried.
    powers = [(low + high) / 2] if count == 1 else np.linspace(low, high, count)
    return [_short(10**power) for power in powers]


def _short(value: float) -> float:
    return float(f"{value:.4g}")
