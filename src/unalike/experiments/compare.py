"""Fair comparison of methods.

Every method sees the same clients, rows and start for each seed. What is kept of a run is what decides
between methods: metrics over all samples and over clients, who is left behind, who would have been better off
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Federation
from ..errors import ConfigError, unknown
from ..models import Task
from ..models.metrics import deciding_metric
from ..runs import Comparison, higher_is_better, summarize_clients
from ..runs import compare as compare_results
from ..runs.comparison import UNTRAINED
from ..runs.comparison_tables import interval_words
from ..runs.selection import ENDED_BY_TEST_ROWS
from ..training.early_stopping import StopRule
from ..training.final_numbers import nothing_trained
from ..training.observers import Observer
from ..typing import Array, Float64s, Row
from .build import (
    client_importance,
    historical_clients,
    learns_from_reference,
    make_federation,
    make_task,
)
from .config import Experiment, settings_of
from .fairness import GROUP_MEASURES, LOWER_IS_FAIRER, TrainedRun, find_groups, run_fairness, who_pays
from .parallel_runs import train_in_parallel
from .planned_runs import (
    RunMaterial,
    check_current,
    check_unchanged,
    is_finished,
    plan_runs,
    read_planned,
    train_planned,
)
from .run import check_run
from .targets import has_clock, to_target

ALONE = "local"
"""The method that tells what clients reach without anybody's help."""
CLIENT_MEASURES = ("clients_mean", "bottom_decile", "worst")
_OTHER_DATA = "The rows differ in their data: they are not tested against each other, and none is best."
OVER_CLIENTS = (*CLIENT_MEASURES, "unseen_bottom_decile", "worst_group")
"""Numbers that are good in the direction of the metric they are taken of."""
DATA = (*settings_of(decides_rows=True), "importance")
"""Settings that decide which rows clients have: all that :func:`.build.make_federation` looks at."""


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
    same_clients: bool = True
    """Whether all methods were trained with the same clients."""
    same_rows: bool = True
    """Whether all methods saw the same rows, so that they can be compared seed by seed."""
    read: int = 0
    """How many runs were there already."""
    ended_by_test_rows: list[str] = field(default_factory=list)
    """Methods whose patience looked at test rows."""

    def add(self, name: str, seed: int, run: TrainedRun) -> None:
        """Keep what a run ended with."""
        measured, self.judged = run.client_metrics(), judge(run.setting.task)
        untrained = {UNTRAINED: 1.0} if nothing_trained(run.metrics()) else {}
        self.results.setdefault(name, []).append({"seed": float(seed), **untrained, **finals(run)})
        self.curves.setdefault(name, []).append(run.metrics())
        self.clients.setdefault(name, []).append(measured[self.judged])
        self.measured.setdefault(name, measured)
        if not self.names:
            self.names = [run.setting.federation.name(int(i)) for i in measured["client"]]
            self.groups = find_groups(run, measured)

    def answer(self, metric: str, baseline: str | None = None, target: StopRule | None = None) -> Comparison:
        """The table; with Local among the methods, also the share of clients that do worse than alone, and
        with a target, what it took to reach it."""
        results = {name: [dict(row) for row in rows] for name, rows in self.results.items()}
        if target is not None:
            self._add_target(results, target)
        for name, rows in results.items() if ALONE in results else ():
            for row, own, alone in zip(rows, self.clients[name], self.clients[ALONE], strict=True):
                row["worse_than_alone"] = worse_off(own, alone, higher_is_better(self.judged))
        decisive = self.judged if metric in (*OVER_CLIENTS, *LOWER_IS_FAIRER) else metric
        first = {name: self.measured[name].get(decisive, values[0]) for name, values in self._trained.items()}
        higher = metric not in LOWER_IS_FAIRER and higher_is_better(decisive)
        return compare_results(results, metric, baseline, first, higher, paired=self.same_rows)

    @property
    def _trained(self) -> dict[str, list[Float64s]]:
        """The clients' numbers of methods of which every run was trained."""
        rejected = {name for name, rows in self.results.items() if any(UNTRAINED in row for row in rows)}
        return {name: values for name, values in self.clients.items() if name not in rejected}

    @property
    def timed(self) -> bool:
        """Whether a simulated clock says anything that the number of rounds does not."""
        return any(has_clock(columns) for seeds in self.curves.values() for columns in seeds)

    def notes(self, target: StopRule | None = None) -> list[str]:
        """What stands behind the numbers of the table."""
        seeds = len(next(iter(self.results.values())))
        words = [interval_words(seeds)] if self.same_rows else [_OTHER_DATA]
        if target is not None:
            least = "at least" if higher_is_better(target.metric) else "at most"
            words.append(f"Target: the first evaluation with {target.metric} {least} {target.target:g}.")
        if self.ended_by_test_rows:
            words.append(f"{', '.join(self.ended_by_test_rows)}: {ENDED_BY_TEST_ROWS}")
        return words

    def _add_target(self, results: Mapping[str, list[dict[str, float]]], target: StopRule) -> None:
        for name, rows in results.items():
            for row, columns in zip(rows, self.curves[name], strict=True):
                row |= to_target(columns, target)
                if not self.timed:
                    del row["time_to_target"]

    def who_pays(self, baseline: str) -> list[Row]:
        """By method: who of the first seed's clients and groups gains and who pays against the baseline."""
        if not self.same_clients:
            return []
        first = {name: values[0] for name, values in self._trained.items()}
        if baseline not in first:
            return []
        return who_pays(first, baseline, self.groups, higher_is_better(self.judged))

    def worse_than_alone(self, most: int = 8) -> list[Row]:
        """By method: who of the first seed's clients does worse than alone, the greatest loss first."""
        if ALONE not in self._trained:
            return []
        higher = higher_is_better(self.judged)
        alone = self.clients[ALONE][0]
        return [
            {"method": name, **_losers(self.names, values[0], alone, higher, most)}
            for name, values in self._trained.items()
            if name != ALONE
        ]


def _losers(names: Sequence[str], own: Float64s, alone: Float64s, higher: bool, most: int) -> Row:
    mine, theirs = comparable(own, alone, higher)
    gaps = np.where(np.isfinite(mine - theirs), theirs - mine, np.where(mine < theirs, np.inf, 0.0))
    order = np.argsort(-gaps, kind="stable")
    who = order[gaps[order] > 0].tolist()
    shown = [f"{names[i]} ({own[i]:.3g}, alone {alone[i]:.3g})" for i in who[:most]]
    more = [f"and {len(who) - most:,} more"] if len(who) > most else []
    return {"clients": f"{len(who):,} of {len(own):,}".replace(" ", "\u00a0"), "who": ", ".join(shown + more)}


class Materials:
    """The clients of one seed after the other, and tasks, each made once: programs are compiled once for each
    method, not once for each seed."""

    def __init__(self, federation_of: Callable[[Experiment], Federation] = make_federation) -> None:
        self._federation_of = federation_of
        self._federations: dict[Any, Federation] = {}
        self._tasks: dict[Any, Task] = {}
        self._seed: int | None = None

    def of(self, experiment: Experiment) -> RunMaterial:
        """What this experiment is trained and measured with."""
        if experiment.seed != self._seed:
            self._federations, self._seed = {}, experiment.seed
        source = data_key(experiment)
        if source not in self._federations:
            self._federations[source] = self._federation_of(experiment)
        federation = self._federations[source]
        if not len(federation.test.y):
            raise ConfigError("a comparison needs test rows; choose a test_fraction above 0.")
        model = (experiment.model, experiment.state, experiment.l2, experiment.metrics)
        key = (*model, federation.input_shape, federation.classes)
        if key not in self._tasks:
            self._tasks[key] = make_task(experiment, federation)
        return RunMaterial(federation, self._tasks[key])


def data_key(experiment: Experiment) -> tuple[Any, ...]:
    """What decides which rows clients have."""
    own = (client_importance(experiment), learns_from_reference(experiment), historical_clients(experiment))
    return (*(getattr(experiment, name) for name in DATA), *own)


def rows_key(experiment: Experiment) -> tuple[Any, ...]:
    """What decides which rows there are, and to whom they belong."""
    others = ("groups", "importance", "network", "drop", "prepare")  # how rows count and what they look like
    named = (getattr(experiment, name) for name in DATA if name not in others)
    return (*named, historical_clients(experiment))


def check_variants(
    variants: Mapping[str, Experiment],
    materials: Materials,
    seeds: Sequence[int] = (),
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Raise where a method cannot work with its clients or its folder is taken by another run, before any is
    trained. What is there already can work."""
    plan = plan_runs(variants, seeds, out)
    for planned in plan if not overwrite else ():
        check_unchanged(planned)
    there = {name for name in variants if all(one.exists for one in plan if one.name == name)} if plan else ()
    for name, chosen in variants.items():
        federation, task = materials.of(chosen)
        if name not in there or overwrite:
            check_run(chosen, federation, task)


def compare_experiments(
    variants: Mapping[str, Experiment],
    seeds: Sequence[int],
    *,
    out: Path | None = None,
    overwrite: bool = False,
    retrain: bool = False,
    jobs: int = 1,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
    federation_of: Callable[[Experiment], Federation] = make_federation,
) -> Trials:
    """Train every variant on every seed; with `out`, into one run folder each, and what is there already is
    read or goes on, unless its rows or code have changed: `retrain` trains such runs again. `jobs` runs are
    trained at a time, in processes of their own."""
    plan = plan_runs(variants, seeds, out)
    trials, materials = Trials(), Materials(federation_of)
    if not overwrite:
        for planned in plan:
            check_unchanged(planned)
        check_current(plan, materials.of, retrain)
    trials.same_clients = len({data_key(chosen)[: len(DATA)] for chosen in variants.values()}) == 1
    trials.same_rows = len({rows_key(chosen) for chosen in variants.values()}) == 1
    if jobs > 1:
        missing = plan if overwrite else [one for one in plan if not is_finished(one)]
        for planned in (one for one in plan if one not in missing):
            announce(planned.title)
        train_in_parallel(missing, jobs, federation_of, overwrite, observer, announce)
        overwrite, announce = False, lambda words: None
        trials.read = -len(missing)
    for planned in plan:
        announce(planned.title)
        material = materials.of(planned.experiment)
        if planned.experiment.patience is not None and not len(material.federation.validation.y):
            trials.ended_by_test_rows = list(dict.fromkeys([*trials.ended_by_test_rows, planned.name]))
        found = None if overwrite else read_planned(planned, material)
        if found is not None:
            trials.add(planned.name, planned.experiment.seed, found)
            trials.read += 1
            continue
        run = train_planned(planned, material, overwrite, observer)
        trials.add(planned.name, planned.experiment.seed, run)
        if run.folder is not None:
            run.folder.close()
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
    return f"{split}_{deciding_metric(task.metrics)}"


def finals(run: TrainedRun) -> dict[str, float]:
    """The last test metrics over samples, and over clients."""
    columns, name = run.client_metrics(), judge(run.setting.task)
    spread = summarize_clients(columns[name], columns["test_samples"], higher_is_better(name))
    last = {
        key: float(values[-1]) if np.isfinite(values[-1]) else float("nan")
        for key, values in run.metrics().items()
        if key.startswith(("test_", "unseen_"))
    }
    known = {key: values[np.isfinite(values)] for key, values in run.metrics().items()}
    regret = {
        key: float(values[-1]) for key, values in known.items() if key.startswith("regret_") and len(values)
    }
    over_clients = {"clients_mean": spread["mean"], **{k: spread[k] for k in ("bottom_decile", "worst")}}
    return {
        **last,
        **over_clients,
        "spread": spread["std"],
        **regret,
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
