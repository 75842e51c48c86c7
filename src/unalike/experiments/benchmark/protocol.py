"""Benchmark protocol: no strategy has an advantage.

For every seed, each center is cut once into training, validation and test patients, the same for all
strategies. Every strategy gets the same number of trials; what they reach on validation patients, each center
counting the same, chooses the settings; these are trained on training and validation patients together, and
tested once. So no test patient of a seed has a part in choosing that seed's settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...data import Federation, load
from ...errors import ConfigError
from ...models import Task, model_registry
from ...models.survival import cox_task
from ...training.observers import Observer
from ..build import make_task
from ..config import Experiment
from ..hyperparameter_candidates import RATES, Settings, candidates
from ..tune import apply_settings, refusal
from .catalog import Benchmark, benchmark_registry
from .scores import Scores, center_notes, mean_defined, score_strategy
from .strategies import STRATEGIES, check_strategies, fit_strategy, strategy_experiment
from .stratified_split import split_centers

VALIDATION = 0.2
"""The part of a center's patients that judges trials."""


@dataclass(frozen=True)
class Outcome:
    """One strategy on one seed."""

    strategy: str
    seed: int
    settings: Settings
    rounds: int
    bytes_sent: float
    trials: int
    scores: Scores


@dataclass(frozen=True)
class BenchmarkResult:
    """Everything that was measured."""

    benchmark: Benchmark
    centers: tuple[str, ...]
    sizes: tuple[int, ...]
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()

    @property
    def strategies(self) -> list[str]:
        """In the order in which they were trained."""
        return list(dict.fromkeys(one.strategy for one in self.outcomes))

    def of(self, strategy: str) -> list[Outcome]:
        """A strategy's outcomes, one for each seed."""
        return [one for one in self.outcomes if one.strategy == strategy]


def run_benchmark(
    benchmark: str | Benchmark,
    strategies: Sequence[str] = STRATEGIES,
    *,
    seeds: int = 3,
    budget: int = 4,
    first_seed: int = 0,
    rates: tuple[float, float] = RATES,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
) -> BenchmarkResult:
    """Train, tune and test every strategy on every seed.

    >>> quick = Benchmark("tiny", "heart_like", "accuracy", pooled_epochs=2, local_steps=10)
    >>> found = run_benchmark(quick, ["pooled", "fedavg"], seeds=1, budget=1)
    >>> len(found.of("fedavg")[0].scores.centers)
    4
    """
    chosen = benchmark_registry.make(benchmark) if isinstance(benchmark, str) else benchmark
    if not strategies or seeds < 1 or budget < 1:
        raise ConfigError("a benchmark needs at least one strategy, one seed and one trial.")
    check_strategies(strategies, chosen)
    whole = load(chosen.data, test_fraction=0.0)
    task = benchmark_task(chosen, whole)
    outcomes, notes = list[Outcome](), dict[str, None]()
    for seed in range(first_seed, first_seed + seeds):
        cut = split_centers(whole, chosen.test_fraction, VALIDATION, seed)
        notes |= dict.fromkeys(center_notes(cut, chosen.metric))
        for name in strategies:
            outcomes.append(
                _outcome(chosen, name, cut, task, seed, budget, rates, observer=observer, announce=announce)
            )
    names = tuple(whole.name(k) for k in range(len(whole)))
    return BenchmarkResult(chosen, names, tuple(whole.train.sizes.tolist()), tuple(outcomes), tuple(notes))


def benchmark_task(benchmark: Benchmark, federation: Federation) -> Task:
    """The reference model with its loss and metric."""
    if benchmark.kind == "survival":
        model = model_registry.make(benchmark.model, input_shape=federation.input_shape, outputs=1)
        return cox_task(model)
    experiment = benchmark.epochs_experiment("fedavg", seed=0)
    return make_task(experiment, federation)


def tune_strategy(
    benchmark: Benchmark,
    strategy: str,
    cut: Federation,
    task: Task,
    seed: int,
    budget: int,
    rates: tuple[float, float] = RATES,
    *,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
) -> tuple[Settings, int]:
    """The settings with the best mean over centers' validation patients, and how many could be tried."""
    # The same points for every seed: a method's programs are then compiled once.
    tried = candidates(strategy_experiment(strategy, benchmark, cut, seed=0), budget, rates=rates)
    begin = strategy_experiment(strategy, benchmark, cut, seed)
    if budget == 1:
        return tried[0], 1
    best, reached, trained = tried[0], -math.inf, 0
    for number, settings in enumerate(tried, start=1):
        experiment = apply_settings(begin, settings)
        if refusal(experiment):
            continue
        announce(f"{strategy}, seed {seed}, trial {number} of {len(tried)}")
        fitted = fit_strategy(strategy, experiment, cut, task, observer)
        found = mean_defined(score_strategy(fitted, cut, benchmark.metric, "validation").centers)
        trained += 1
        if found > reached:
            best, reached = settings, found
    return best, trained


def _outcome(
    benchmark: Benchmark,
    strategy: str,
    cut: Federation,
    task: Task,
    seed: int,
    budget: int,
    rates: tuple[float, float],
    **watched: Any,
) -> Outcome:
    settings, trials = tune_strategy(benchmark, strategy, cut, task, seed, budget, rates, **watched)
    final = cut.with_validation_in_training()
    experiment: Experiment = apply_settings(strategy_experiment(strategy, benchmark, final, seed), settings)
    watched["announce"](f"{strategy}, seed {seed}")
    fitted = fit_strategy(strategy, experiment, final, task, watched["observer"])
    scores = score_strategy(fitted, final, benchmark.metric)
    return Outcome(strategy, seed, settings, fitted.run.rounds, fitted.bytes_sent, trials, scores)
