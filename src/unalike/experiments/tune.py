"""Which settings suit each method, without a look at the test rows?  (Hyper-parameter search.)

Every method gets the same number of trials, the first of which is the experiment as it stands: tuning never
does worse on validation rows than not tuning. The others are drawn jointly over all of a method's settings,
so that a method with two settings sees as many learning rates as one with none. A trial trains on the
training rows and is judged by the validation rows of the same clients; the best settings of each method are
then trained on both, and only those are tested.

    quasi-random    points that fill the ranges evenly: u_k = frac(u_0 + k a), a_j = g^-j, g^(d+1) = g + 1
    random          points drawn independently

Learning rates and other positive fractions are drawn on a logarithmic scale. The sequence is Roberts' "The
Unreasonable Effectiveness of Quasirandom Sequences", 2018.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import algorithm_registry
from ..core.random import generator
from ..core.spec import Spec
from ..data import Federation
from ..errors import ConfigError
from ..runs import higher_is_better, summarize_clients
from ..runs.fairness import fairest_within
from ..training.newcomers import set_apart
from ..training.observers import Observer
from ..training.run import Run
from ..typing import Float64s
from .build import make_algorithm, make_federation, make_task
from .compare import judge
from .config import Experiment
from .run import run_experiment

RATES = (10**-2.5, 10**0.0)
"""The smallest and the largest learning rate that is tried."""
BEST, FAIREST = "best", "fairest"
"""How a trial is chosen: by its score, or by its spread among those that are nearly the best."""
SEARCHES = ("quasi-random", "random")
VALIDATION = 0.2
"""The part of each client's rows that judges trials, unless the experiment says otherwise."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One setting of one method, and how well it did on validation rows."""

    method: str
    settings: Settings
    score: float
    mean: float = math.nan
    """The same over clients, each counting the same..."""
    spread: float = math.nan
    """...and its standard deviation."""
    skipped: str = ""
    """Why the method cannot have these settings together; it was not trained."""


def tune(
    variants: Mapping[str, Experiment],
    *,
    budget: int = 12,
    search: str = SEARCHES[0],
    rates: tuple[float, float] = RATES,
    choose: str = BEST,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
) -> dict[str, list[Trial]]:
    """All trials of every method, the chosen one first, then by their scores; a trial that diverged has the
    score NaN and comes last, and so does one whose settings the method refuses together."""
    points = check_choice(choose)
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
        tried = candidates(experiment, budget, search, rates)
        trials = []
        for number, settings in enumerate(tried, start=1):
            announce(f"{name}, trial {number} of {len(tried)}")
            chosen = applied(with_validation(experiment), settings)
            reason = refusal(chosen) if number > 1 else ""  # the first is the user's own choice
            if reason:
                trials.append(Trial(name, settings, math.nan, skipped=reason))
                continue
            run = run_experiment(
                chosen.model_copy(update={"evaluate_every": 0, "unseen": 0.0}),
                federation=federation,
                task=task,
                observer=observer,
            )
            trials.append(_judged(name, settings, run, judge(task, "validation")))
        higher = higher_is_better(judge(task))
        answer[name] = fairest_first(ranked(trials, higher), points, higher)
    return answer


def refusal(experiment: Experiment) -> str:
    """Why a method cannot have these settings together; nothing if it can.

    >>> from unalike.experiments.config import make_experiment
    >>> far = make_experiment({"algorithm": "fedprox", "learning_rate": 2.0, "options": {"mu": 1.0}})
    >>> refusal(far)
    'mu times the learning rate must be below 1, but is 1 * 2 = 2; choose a smaller mu or learning rate.'
    """
    try:
        make_algorithm(experiment)
    except ConfigError as error:
        return str(error)
    return ""


def candidates(
    experiment: Experiment, budget: int, search: str = SEARCHES[0], rates: tuple[float, float] = RATES
) -> list[Settings]:
    """The settings that are tried, as many for every method: its defaults, then points of its ranges."""
    if search not in SEARCHES:
        raise ConfigError(f"search must be {' or '.join(SEARCHES)}, not {search!r}.")
    if budget < 1 or not 0 < rates[0] <= rates[1] < math.inf:
        raise ConfigError("tuning needs a budget of at least 1 trial, and positive learning rates in order.")
    ranges = search_space(experiment, rates)
    rng = generator(experiment.seed, f"tuning {experiment.algorithm}")
    draw = _spread if search == SEARCHES[0] else _scattered
    drawn = [
        {name: _value(values, u) for (name, values), u in zip(ranges.items(), point, strict=True)}
        for point in draw(budget - 1, len(ranges), rng)
    ]
    return [_defaults(experiment, ranges), *drawn]


def search_space(experiment: Experiment, rates: tuple[float, float] = RATES) -> Mapping[str, Sequence[Any]]:
    """What is searched for a method: learning rates, and values of its own settings that are not given."""
    own = getattr(algorithm_registry[experiment.algorithm], "grid", {})
    given = {**experiment.model_dump(exclude_none=True), **experiment.options}
    return {"learning_rate": rates, **{name: values for name, values in own.items() if name not in given}}


def at_the_edge(found: Sequence[Trial], space: Mapping[str, Sequence[Any]]) -> list[str]:
    """The settings of the best trial beyond which nothing was tried, though something could be.

    >>> trials = [Trial("m", {"learning_rate": rate}, -abs(rate - 0.9)) for rate in (0.8, 0.3, 0.1)]
    >>> at_the_edge(trials, {"learning_rate": (0.003, 1.0)})
    ['learning_rate 0.8 is the largest that was tried']
    """
    best, words = found[0].settings, []
    trained = [trial.settings for trial in found if not trial.skipped]
    for name in space:
        tried = sorted({settings[name] for settings in trained if name in settings})
        if len(tried) < 3 or best.get(name) not in (tried[0], tried[-1]):
            continue
        end = "largest" if best[name] == tried[-1] else "smallest"
        words.append(f"{name} {best[name]:.4g} is the {end} that was tried")
    return words


def applied(experiment: Experiment, settings: Settings) -> Experiment:
    """The experiment with these settings; those it has no field for are the algorithm's own."""
    fields = {k: v for k, v in settings.items() if k in Experiment.model_fields}
    own = {k: v for k, v in settings.items() if k not in fields}
    return experiment.model_copy(update={**fields, "options": {**experiment.options, **own}})


def ranked(trials: Sequence[Trial], higher: bool) -> list[Trial]:
    """The best first; what is not a number comes last, and the earlier of two equals comes first."""
    sign = -1.0 if higher else 1.0
    return sorted(trials, key=lambda trial: math.inf if math.isnan(trial.score) else sign * trial.score)


def fairest_first(trials: Sequence[Trial], points: float | None, higher: bool) -> list[Trial]:
    """The trial of least spread, among those at most so many points below the best mean over clients, before
    the others (the rule by which Li et al., 2020, choose q); None leaves the best first."""
    if points is None:
        return list(trials)
    means, spreads = ([getattr(t, name) for t in trials] for name in ("mean", "spread"))
    chosen = trials[fairest_within(means, spreads, points, higher)]
    return [chosen, *(trial for trial in trials if trial is not chosen)]


def check_choice(choose: str) -> float | None:
    """None for `best`, or the points of `fairest:POINTS`.

    >>> check_choice("best"), check_choice("fairest:2")
    (None, 2.0)
    """
    spec = Spec.parse(choose)
    if spec.name == BEST and not spec.arguments:
        return None
    number = spec.arguments[0] if spec.arguments else 1.0
    if spec.name != FAIREST or len(spec.arguments) > 1 or isinstance(number, str) or not 0 <= number <= 100:
        raise ConfigError(
            f"choose = {choose!r} must be best, or fairest:POINTS with at most so many points (0 to 100) "
            "below the best mean over clients."
        )
    return float(number)


def _judged(name: str, settings: Settings, run: Run, column: str) -> Trial:
    """A trial with what it ended with, over samples and over clients."""
    clients = run.client_metrics()
    over = summarize_clients(clients[column], clients["validation_samples"])
    return Trial(name, settings, float(run.metrics()[column][-1]), over["mean"], over["std"])


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


def _spread(count: int, dimensions: int, rng: np.random.Generator) -> Float64s:
    """So many points that fill the unit cube evenly, from a random first one."""
    root = 2.0
    for _ in range(60):  # g^(d+1) = g + 1
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return (rng.random(dimensions) + np.arange(count)[:, None] * steps) % 1.0


def _scattered(count: int, dimensions: int, rng: np.random.Generator) -> Float64s:
    """So many points of the unit cube, drawn independently."""
    return rng.random((count, dimensions))


def _value(values: Sequence[Any], u: float) -> Any:
    """The value at u in [0, 1): between the ends where all are positive fractions, else one of them."""
    if all(isinstance(value, float) and value > 0 for value in values):
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
