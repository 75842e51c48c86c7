"""How are several methods trained so that their comparison is fair?  (Comparison of methods.)

Every method sees the same clients, rows and start for each seed. What is kept of a run is what decides
between methods: metrics over all samples and over clients, who is left behind, who would have been better off
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Federation
from ..errors import ConfigError, RunError, unknown
from ..models import Task
from ..models.metrics import judged_metric
from ..participation import check_per_round
from ..runs import Comparison, higher_is_better, summarize_clients
from ..runs import compare as compare_results
from ..training.newcomers import set_apart
from ..training.observers import Observer
from ..training.run import Run
from ..typing import Array, Float64s
from .build import make_federation, make_task
from .config import Experiment, make_experiment
from .fairness import GROUP_MEASURES, LOWER_IS_FAIRER, measured_groups, run_fairness, who_pays
from .run import rehearse, run_experiment
from .variations import folder_name

ALONE = "local"
"""The method that tells what clients reach without anybody's help."""
CLIENT_MEASURES = ("clients_mean", "bottom_decile", "worst")
OVER_CLIENTS = (*CLIENT_MEASURES, "unseen_bottom_decile", "worst_group")
"""Numbers that are good in the direction of the metric they are taken of."""
SHARED = (
    *("data", "partition", "clients", "samples", "skew", "test_fraction", "validation_fraction", "unseen"),
    *("importance", "groups", "model", "l2", "metrics", "seed", "evaluate_clients", "algorithm", "options"),
)
"""Settings that make a comparison fair because all methods share them."""


@dataclass
class Trials:
    """What all methods reached on all seeds."""

    results: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    curves: dict[str, list[dict[str, Array]]] = field(default_factory=dict)
    clients: dict[str, list[Float64s]] = field(default_factory=dict)
    judged: str = "test_accuracy"
    """What the clients' numbers are."""
    measured: dict[str, dict[str, Array]] = field(default_factory=dict)
    """All that was measured of the first seed's clients."""
    names: list[str] = field(default_factory=list)
    """Who the clients of the first seed are."""
    groups: list[str] | None = None
    """Their groups, where there are any."""

    def add(self, name: str, seed: int, run: Run) -> None:
        """Keep what a run ended with."""
        measured, self.judged = run.client_metrics(), judge(run.setting.task)
        self.results.setdefault(name, []).append({"seed": float(seed), **finals(run)})
        self.curves.setdefault(name, []).append(run.metrics())
        self.clients.setdefault(name, []).append(measured[self.judged])
        self.measured.setdefault(name, measured)
        if not self.names:
            self.names = [run.setting.federation.name(int(i)) for i in measured["client"]]
            self.groups = measured_groups(run, measured)

    def answer(self, metric: str, baseline: str | None = None) -> Comparison:
        """The table; with Local among the methods, also the share of clients that do worse than alone."""
        results = {name: [dict(row) for row in rows] for name, rows in self.results.items()}
        for name, rows in results.items() if ALONE in results else ():
            for row, own, alone in zip(rows, self.clients[name], self.clients[ALONE], strict=True):
                row["worse_than_alone"] = worse_off(own, alone, higher_is_better(self.judged))
        decisive = self.judged if metric in (*OVER_CLIENTS, *LOWER_IS_FAIRER) else metric
        first = {name: self.measured[name].get(decisive, values[0]) for name, values in self.clients.items()}
        higher = metric not in LOWER_IS_FAIRER and higher_is_better(decisive)
        return compare_results(results, metric, baseline, first, higher)

    def who_pays(self, baseline: str) -> list[dict[str, Any]]:
        """By method: who of the first seed's clients and groups gains and who pays against the baseline."""
        first = {name: values[0] for name, values in self.clients.items()}
        return who_pays(first, baseline, self.groups, higher_is_better(self.judged))

    def worse_than_alone(self, most: int = 8) -> list[dict[str, Any]]:
        """By method: who of the first seed's clients does worse than alone, the greatest loss first."""
        if ALONE not in self.clients:
            return []
        higher = higher_is_better(self.judged)
        alone = self.clients[ALONE][0]
        return [
            {"method": name, **_losers(self.names, values[0], alone, higher, most)}
            for name, values in self.clients.items()
            if name != ALONE
        ]


def _losers(names: Sequence[str], own: Float64s, alone: Float64s, higher: bool, most: int) -> dict[str, Any]:
    mine, theirs = comparable(own, alone, higher)
    gaps = np.where(np.isfinite(mine - theirs), theirs - mine, np.where(mine < theirs, np.inf, 0.0))
    order = np.argsort(-gaps, kind="stable")
    who = order[gaps[order] > 0].tolist()
    shown = [f"{names[i]} ({own[i]:.3g}, alone {alone[i]:.3g})" for i in who[:most]]
    more = [f"and {len(who) - most:,} more"] if len(who) > most else []
    return {"clients": f"{len(who):,} of {len(own):,}".replace(" ", "\u00a0"), "who": ", ".join(shown + more)}


def variant(experiment: Experiment, algorithm: str) -> Experiment:
    """The experiment with another algorithm.

    Options and settings may be meant for one method alone: `ditto.lam` is Ditto's `lam`,
    `fedem.learning_rate` the learning rate of FedEM. Options without a name before them are those of the
    experiment's own algorithm.

    >>> from unalike.experiments.config import make_experiment
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
            if short in SHARED:
                raise ConfigError(f"all methods share {short}; {name} cannot be set for one of them alone.")
            (settings if short in Experiment.model_fields else options)[short] = value
    values = {**experiment.model_dump(), **settings, "algorithm": algorithm, "options": options}
    return make_experiment(values)


def check_options(experiment: Experiment, names: Collection[str]) -> None:
    """Raise for options that none of these methods would get."""
    for option in experiment.options:
        owner, dot, _ = option.rpartition(".")
        if (owner if dot else experiment.algorithm) not in names:
            if dot:
                raise ConfigError(
                    f"the option {option} is for {owner}, which is not compared; "
                    f"choose from {', '.join(names)}."
                )
            raise ConfigError(
                f"the option {option} needs a method's name in front, such as {next(iter(names))}.{option}; "
                f"without one it is for {experiment.algorithm}, which is not compared."
            )


def check_variants(
    variants: Mapping[str, Experiment],
    federation: Federation,
    seeds: range = range(0),
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Raise where a method cannot work with these clients or its folder is taken, before any is trained."""
    if not len(federation.test.y):
        raise ConfigError("a comparison needs test rows; choose a test_fraction above 0.")
    for name, chosen in variants.items():
        here = set_apart(federation, chosen.unseen, chosen.seed)[0] if chosen.unseen else federation
        if chosen.per_round is not None:
            check_per_round(chosen.per_round, len(here))
        rehearse(chosen, here, make_task(chosen, here))
        for seed in seeds:
            folder = None if out is None else out / f"{folder_name(name)}-seed{seed}"
            if folder is not None and not overwrite and (folder / "config.toml").exists():
                raise RunError(
                    f"{folder} already holds a run; choose another --out, or replace it with --overwrite."
                )


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
    trials, tasks = Trials(), dict[Any, Task]()
    some = next(iter(variants.values()))
    for seed in seeds:
        federation = federation_of(some.model_copy(update={"seed": seed}))
        if not len(federation.test.y):
            raise ConfigError("a comparison needs test rows; choose a test_fraction above 0.")
        # One task for all seeds: programs are compiled once for each method, not once for each seed.
        shape = (federation.input_shape, federation.classes)
        task = tasks.setdefault(shape, make_task(some, federation))
        for name, chosen in variants.items():
            announce(f"{name}, seed {seed}")
            run = run_experiment(
                chosen.model_copy(update={"seed": seed}),
                None if out is None else out / f"{folder_name(name)}-seed{seed}",
                federation=federation,
                task=task,
                overwrite=overwrite,
                observer=observer,
            )
            trials.add(name, seed, run)
    return trials


def check_metric(metric: str | None, experiment: Experiment, federation: Federation) -> str:
    """The metric that decides, before anything is trained."""
    task = make_task(experiment, federation)
    names = ["loss", *(name for name, metric in task.metrics.items() if not metric.table)]
    known = [*(f"test_{name}" for name in names), *CLIENT_MEASURES, "spread"]
    known += GROUP_MEASURES if federation.groups is not None else ()
    if experiment.unseen:
        known += [*(f"unseen_{name}" for name in names), "unseen_bottom_decile"]
    if metric is not None and metric not in known:
        raise unknown("metric", metric, known)
    return metric or judge(task)


def judge(task: Task, split: str = "test") -> str:
    """The column by which clients are judged: that of the task's first metric."""
    return f"{split}_{judged_metric(task.metrics)}"


def finals(run: Run) -> dict[str, float]:
    """The last test metrics over samples, and over clients."""
    columns, name = run.client_metrics(), judge(run.setting.task)
    spread = summarize_clients(columns[name], columns["test_samples"], higher_is_better(name))
    last = {
        key: float(values[-1]) if np.isfinite(values[-1]) else float("nan")
        for key, values in run.metrics().items()
        if key.startswith(("test_", "unseen_"))
    }
    over_clients = {"clients_mean": spread["mean"], **{k: spread[k] for k in ("bottom_decile", "worst")}}
    return {
        **last,
        **over_clients,
        "spread": spread["std"],
        **run_fairness(run, name, higher_is_better(name)),
    }


def worse_off(own: Float64s, alone: Float64s, higher: bool) -> float:
    """The share of clients that do worse than they would alone."""
    measured = ~(np.isnan(own) & np.isnan(alone))  # one that is not finite alone has diverged
    mine, theirs = (values[measured] for values in comparable(own, alone, higher))
    return float(np.mean(mine < theirs)) if mine.size else float("nan")


def comparable(own: Float64s, alone: Float64s, higher: bool) -> tuple[Float64s, Float64s]:
    """Both so that more is better, and what is not finite is worst."""
    sign = 1 if higher else -1
    mine, theirs = (np.where(np.isfinite(values), sign * values, -np.inf) for values in (own, alone))
    return mine, theirs
