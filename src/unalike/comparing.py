"""How are several methods trained so that their comparison is fair?

Every method sees the same clients, rows and start for each seed. What is kept of a run is what decides
between methods: metrics over all samples and over clients, who is left behind, who would have been better off
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .config import Experiment
from .data import Federation
from .errors import ConfigError, unknown
from .experiment import make_federation, make_task, run_experiment
from .run import Run
from .runs import Comparison, higher_is_better, summarise_clients
from .runs import compare as compare_results
from .training import Observer

ALONE = "local"
"""The method that tells what clients reach without anybody's help."""
CLIENT_MEASURES = ("clients_mean", "bottom_decile", "worst")


@dataclass
class Trials:
    """What all methods reached on all seeds."""

    results: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    curves: dict[str, list[dict[str, NDArray[Any]]]] = field(default_factory=dict)
    clients: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)

    def add(self, name: str, seed: int, run: Run) -> None:
        """Keep what a run ended with."""
        measured = run.client_metrics()
        self.results.setdefault(name, []).append({"seed": float(seed), **finals(run)})
        self.curves.setdefault(name, []).append(run.metrics())
        self.clients.setdefault(name, []).append(measured[judge(run.setting.federation)])

    def answer(self, metric: str, baseline: str | None = None) -> Comparison:
        """The table; with Local among the methods, also the share of clients that do worse than alone."""
        results = {name: [dict(row) for row in rows] for name, rows in self.results.items()}
        for name, rows in results.items() if ALONE in results else ():
            for row, own, alone in zip(rows, self.clients[name], self.clients[ALONE], strict=True):
                row["worse_than_alone"] = worse_off(own, alone, higher_is_better(metric))
        first = {name: values[0] for name, values in self.clients.items()}
        return compare_results(results, metric, baseline, first)


def variant(experiment: Experiment, algorithm: str) -> Experiment:
    """The experiment with another algorithm.

    Options and settings may be meant for one method alone: `ditto.lam` is Ditto's `lam`,
    `fedem.learning_rate` the learning rate of FedEM. Options without a name before them are those of the
    experiment's own algorithm.

    >>> from unalike.config import make_experiment
    >>> described = make_experiment({"options": {"ditto.lam": 1.0, "fedem.learning_rate": 0.3}})
    >>> variant(described, "fedem").learning_rate, variant(described, "ditto").options
    (0.3, {'lam': 1.0})
    """
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for name, value in experiment.options.items():
        owner, dot, short = name.rpartition(".")
        if not dot and algorithm == experiment.algorithm:
            options[name] = value
        elif dot and owner == algorithm:
            (settings if short in Experiment.model_fields else options)[short] = value
    values = {**experiment.model_dump(), **settings, "algorithm": algorithm, "options": options}
    return Experiment(**values)


def compare_experiments(
    variants: Mapping[str, Experiment],
    seeds: range,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
    federation_of: Callable[[Experiment], Federation] = make_federation,
) -> Trials:
    """Train every variant on every seed; with `out`, into one run folder each."""
    trials = Trials()
    some = next(iter(variants.values()))
    for seed in seeds:
        federation = federation_of(some.model_copy(update={"seed": seed}))
        if not len(federation.test.y):
            raise ConfigError("a comparison needs test rows; choose a test_fraction above 0.")
        task = make_task(some, federation)
        for name, chosen in variants.items():
            announce(f"{name}, seed {seed}")
            run = run_experiment(
                chosen.model_copy(update={"seed": seed}),
                None if out is None else out / f"{name}-seed{seed}",
                federation=federation,
                task=task,
                overwrite=overwrite,
                observer=observer,
            )
            trials.add(name, seed, run)
    return trials


def check_metric(metric: str | None, experiment: Experiment, federation: Federation) -> str:
    """The metric that decides, before anything is trained."""
    known = ["test_loss", judge(federation), *CLIENT_MEASURES]
    if experiment.unseen:
        known += ["unseen_loss", judge(federation).replace("test", "unseen"), "unseen_bottom_decile"]
    if metric is not None and metric not in known:
        raise unknown("metric", metric, known)
    return metric or judge(federation)


def judge(federation: Federation) -> str:
    """The metric by which a federation's clients are judged."""
    return "test_accuracy" if federation.classes else "test_rmse"


def finals(run: Run) -> dict[str, float]:
    """The last test metrics over samples, and over clients."""
    columns, name = run.client_metrics(), judge(run.setting.federation)
    spread = summarise_clients(columns[name], columns["test_samples"], higher_is_better(name))
    last = {
        key: float(values[~np.isnan(values)][-1])
        for key, values in run.metrics().items()
        if key.startswith(("test_", "unseen_")) and not np.isnan(values).all()
    }
    return {**last, "clients_mean": spread["mean"], **{k: spread[k] for k in ("bottom_decile", "worst")}}


def worse_off(own: NDArray[np.float64], alone: NDArray[np.float64], higher: bool) -> float:
    """The share of clients that do worse than they would alone."""
    measured = np.isfinite(own) & np.isfinite(alone)
    gaps = (own - alone)[measured] * (1 if higher else -1)
    return float(np.mean(gaps < 0)) if gaps.size else float("nan")
