"""Hyper-parameter search on validation rows.

Every method gets the same number of trials, the first of which is the experiment as it stands: tuning never
does worse on validation rows than not tuning. A trial trains on the training rows and is judged by the
validation rows of the same clients; the best settings of each method are then trained on both, and only those
are tested. Trials are kept in a study, so that a search that was interrupted goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..core.spec import Spec
from ..data import Federation
from ..errors import ConfigError
from ..models import Task
from ..runs import higher_is_better, summarize_clients
from ..runs.fairness import fairest_within
from ..training.fingerprint import data_fingerprint, settings_fingerprint
from ..training.newcomers import set_apart
from ..training.observers import Observer
from ..training.round_report import RoundReport
from ..training.run import Run
from .build import client_importance, make_algorithm, make_federation, make_task
from .compare import judge
from .config import Experiment
from .hyperparameter_candidates import (
    QUASI_RANDOM,
    RATES,
    TPE,
    Settings,
    candidates,
    check_search,
    search_space,
)
from .run import run_experiment
from .tuning_study import FIRST_TRIALS, OpenTrial, Trial, TuningStudy
from .variations import variant

LOOKS = 5
"""How often a trial is looked at, where hopeless ones are given up."""
BEST, FAIREST = "best", "fairest"
"""How a trial is chosen: by its score, or by its spread among those that are as good as FedAvg, or nearly."""
REFERENCE = "fedavg"
"""The method whose mean over clients others must reach to be chosen for their fairness."""
VALIDATION = 0.2
"""The part of each client's rows that judges trials, unless the experiment says otherwise."""


def tune(
    variants: Mapping[str, Experiment],
    *,
    budget: int = 12,
    search: str = QUASI_RANDOM,
    rates: tuple[float, float] = RATES,
    choose: str = BEST,
    prune: bool = False,
    out: Path | None = None,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
) -> dict[str, list[Trial]]:
    """All trials of every method, the chosen one first, then by their scores; a trial that diverged has the
    score NaN and comes last, and so does one whose settings the method refuses together, or that was given up
    (`prune`). With `out`, trials are kept in that folder, and those that are there are not trained again.

    With `choose="fairest:POINTS"`, a trial must have a mean over clients at most so many points below that of
    FedAvg's best trial. FedAvg is one of the variants, or is tuned for it with the same budget."""
    points = check_choice(choose)
    check_search(budget, search, rates)
    some = with_validation(next(iter(variants.values())))
    federation = check_validation(some)
    task = make_task(some, federation)
    if some.unseen:  # who joins after training has no part in choosing settings either
        federation = set_apart(federation, some.unseen, some.seed)[0]
    higher = higher_is_better(judge(task))
    found: dict[str, list[Trial]] = {}
    for name, experiment in with_reference(variants, choose).items():
        if not experiment.learning_rate:
            raise ConfigError(f"tuning of {name} begins with its learning rate, which must be above 0.")
        study = TuningStudy(
            name,
            search_space(experiment, rates),
            {
                **experiment.model_dump(mode="json"),
                **{"search": search, "rates": rates, "prune": prune},
                **data_fingerprint(federation),
                "code": settings_fingerprint(experiment.seed, method=make_algorithm(experiment))["code"],
            },
            higher=higher,
            seed=experiment.seed,
            folder=out,
        )
        drawn = candidates(experiment, FIRST_TRIALS if search == TPE else budget, search, rates)
        own, trials = federation, []
        if client_importance(experiment) != client_importance(some):
            own = federation.with_importance(client_importance(experiment))
        for number in range(budget):
            announce(f"{name}, trial {number + 1} of {budget}")
            settings = drawn[number] if number < len(drawn) else None
            train = partial(_train, experiment, own, task, prune, observer)
            trials.append(study.known(number, settings) or _try(study, number, settings, train))
        found[name] = rank_trials(trials, higher)
    reference = None if points is None else found[reference_name(variants)][0].mean
    return {name: fairest_first(found[name], points, higher, reference) for name in variants}


def with_reference(variants: Mapping[str, Experiment], choose: str) -> dict[str, Experiment]:
    """The variants that are tuned: those asked for, and FedAvg where fairness is compared with it."""
    if check_choice(choose) is None or reference_name(variants) in variants:
        return dict(variants)
    return {**variants, REFERENCE: variant(next(iter(variants.values())), REFERENCE)}


def reference_name(variants: Mapping[str, Experiment]) -> str:
    """What FedAvg is called among the variants, or would be."""
    return next((name for name, one in variants.items() if one.algorithm == REFERENCE), REFERENCE)


def check_validation(experiment: Experiment) -> Federation:
    """The clients of trials, if any of them can be judged."""
    federation = make_federation(with_validation(experiment))
    if not len(federation.validation.y):
        raise ConfigError(
            "no client has rows enough for validation; choose another validation_fraction or test_fraction."
        )
    return federation


def _try(study: TuningStudy, number: int, settings: Settings | None, train: Callable[..., Trial]) -> Trial:
    """One trial; what is interrupted is not kept."""
    trial = study.begin(number, settings)
    try:
        return trial.end(train(trial, study.method, first=not number))
    except BaseException:
        trial.give_up()
        raise


def _train(
    experiment: Experiment,
    federation: Federation,
    task: Task,
    prune: bool,
    observer: Observer | None,
    trial: OpenTrial,
    method: str,
    first: bool,
) -> Trial:
    """What the settings of a trial reach on validation rows."""
    chosen, column = apply_settings(with_validation(experiment), trial.settings), judge(task, "validation")
    reason = "" if first else refusal(chosen)  # the first is the user's own choice
    if reason:
        return Trial(method, trial.settings, math.nan, skipped=reason)
    looks = (experiment.evaluate_every or max(1, (experiment.rounds_to_train or 1) // LOOKS)) if prune else 0

    def watch(report: RoundReport, rounds: int) -> None:
        if observer is not None:
            observer(report, rounds)
        score = report.metrics.get(column, math.nan)
        if prune and 0 < report.round < rounds and trial.is_hopeless(score, report.round):
            raise _HopelessError(report.round)

    try:
        run = run_experiment(
            chosen.model_copy(update={"evaluate_every": looks, "unseen": 0.0}),
            federation=federation,
            task=task,
            observer=watch,
        )
    except _HopelessError as hopeless:
        return Trial(method, trial.settings, math.nan, pruned=hopeless.args[0])
    return _make_trial(method, trial.settings, run, column)


class _HopelessError(Exception):
    """A trial does worse than most; its round."""


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


def apply_settings(experiment: Experiment, settings: Settings) -> Experiment:
    """The experiment with these settings; those it has no field for are the algorithm's own."""
    fields = {k: v for k, v in settings.items() if k in Experiment.model_fields}
    own = {k: v for k, v in settings.items() if k not in fields}
    return experiment.model_copy(update={**fields, "options": {**experiment.options, **own}})


def rank_trials(trials: Sequence[Trial], higher: bool) -> list[Trial]:
    """The best first; what is not a number comes last, and the earlier of two equals comes first."""
    sign = -1.0 if higher else 1.0
    return sorted(trials, key=lambda trial: math.inf if math.isnan(trial.score) else sign * trial.score)


def fairest_first(
    trials: Sequence[Trial], points: float | None, higher: bool, reference: float | None = None
) -> list[Trial]:
    """The trial of least spread, among those whose mean over clients is at most so many points below the
    reference, FedAvg's (or their own best), before the others: the rule by which Li et al., 2020, choose q.
    None leaves the best first, and so do means that are all below it."""
    if points is None:
        return list(trials)
    means, spreads = ([getattr(t, name) for t in trials] for name in ("mean", "spread"))
    chosen = trials[fairest_within(means, spreads, points, higher, reference)]
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
            "below FedAvg's mean over clients."
        )
    return float(number)


def _make_trial(name: str, settings: Settings, run: Run, column: str) -> Trial:
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
