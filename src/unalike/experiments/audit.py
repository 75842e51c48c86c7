"""Membership-inference audit of a finished run (`unalike audit`).

    collect    distinct training, test and reference rows, at most so many
    train      reference models on random halves of them
    attack     every attack, on every row, by the predictor of the row's client
    judge      on balanced sets: members against non-members, training and reference rows with other ones

The three metrics of the report card are those that defenses with reference data must be judged by: utility,
training leakage and reference leakage, which mean little one without the others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..core.random import generator
from ..data import Federation, Split
from ..errors import ConfigError, DataError
from ..models import Task
from ..privacy.audit.attack_sets import AttackSet, balance
from ..privacy.audit.distribution_shift import domain_control
from ..privacy.audit.leakage import Leakage, measure_leakage
from ..privacy.audit.membership_inference import Evidence, Verdict, check_references, run_attacks
from ..privacy.audit.report_card import ReportCard
from ..privacy.audit.signals import Signals
from ..privacy.audit.statistics import Rate, clopper_pearson
from ..runs.statistics import mean_interval
from ..training.run import Run
from ..typing import Int64s
from .audit_defenses import make_defense
from .audit_references import choose_kind, train_references
from .audit_rows import OTHERS, REFERENCE, TRAINING, AuditRows, collect_rows, signals_of
from .audit_sets import audit_sets, own_fraction
from .config import Experiment
from .reopen import reopen

DEFAULT_REFERENCES, DEFAULT_ROWS = 16, 10_000
DELTA = 1e-5
EPSILONS = ("epsilon", "row_epsilon", "reference_epsilon")
"""What accountants say of a client, of a training row and of a reference row."""
_FEW = 200
"""Rows below which intervals are too wide to say much."""


def audit(
    path: str | Path,
    *,
    references: int = DEFAULT_REFERENCES,
    kind: str | None = None,
    reference: str | None = None,
    defense: str | None = None,
    sensitivity: float | None = None,
    rows: int = DEFAULT_ROWS,
    delta: float = DELTA,
    seed: int = 0,
) -> ReportCard:
    """The report card of the finished run in a folder, which is not changed; see :func:`audit_run`."""
    check_references(references)
    make_defense(defense)
    with reopen(path) as (experiment, run):
        return audit_run(
            run,
            experiment,
            references=references,
            kind=kind,
            reference=reference,
            defense=defense,
            sensitivity=sensitivity,
            rows=rows,
            delta=delta,
            seed=seed,
        )


def audit_run(
    run: Run,
    experiment: Experiment | None = None,
    *,
    references: int = DEFAULT_REFERENCES,
    kind: str | None = None,
    reference: Split | str | None = None,
    defense: str | None = None,
    sensitivity: float | None = None,
    rows: int = DEFAULT_ROWS,
    delta: float = DELTA,
    seed: int = 0,
) -> ReportCard:
    """Attack a run with `references` models of a kind ("cohort", or "runs" where clients have models of their
    own, which needs the experiment), on at most so many `rows`; `reference` are rows that a defense has used
    beside the training rows, or a word for them ("own", "validation", "none"; see
    :func:`~unalike.experiments.audit_sets.audit_sets`), and `sensitivity` what their privacy is worth against
    a training row's. A `defense`, such as "memguard:0.5", stands between the run and who attacks it."""
    own = own_fraction(run.setting.algorithm)
    personal = run.setting.algorithm.personalized or run.messages.per_client
    kind = choose_kind(kind, experiment, personal, own)
    check_references(references)
    worth = declared_sensitivity(sensitivity, experiment)
    guard, task = make_defense(defense), run.setting.task
    sets = audit_sets(run.setting.federation, own, reference)
    table = collect_rows(sets.federation, sets.reference, rows, seed)
    target = signals_of(task, guard.target_outputs(run, sets, table, seed), table.y)
    again = experiment if kind == "runs" else None
    loss = fitted_loss(target, table)
    found = train_references(run, again, table, references, loss, seed, guard.reference_outputs)
    evidence = Evidence(target, found.signals, found.inside, table.classes(task), table.of(OTHERS))
    verdicts = run_attacks(evidence, seed)
    training, other = judge_sets(verdicts, table, sets.federation, task, delta, seed)
    name, utility = measure_utility(target, table)
    shifts = [part.shift.said() for part in (training, other) if part is not None and part.shift is not None]
    return ReportCard(
        name,
        utility,
        training,
        other,
        declared_values(run, worth),
        {
            "references": references,
            "kind": kind,
            "rows": len(table),
            "members": len(table.of(TRAINING)),
            "non_members": len(table.of(OTHERS)),
            "reference_rows": len(table.of(REFERENCE)),
            "seed": seed,
            **({} if defense is None else {"defense": defense}),
        },
        (found.note, *table.removed, *shifts, *_warnings(training, other, personal, kind)),
    )


def fitted_loss(target: Signals, rows: AuditRows) -> float:
    """How well the model fits the set that it fits best: reference models are to fit their rows as well."""
    losses = [-target.scores["loss"][rows.of(kind)] for kind in (TRAINING, REFERENCE)]
    return min((float(one.mean()) for one in losses if len(one)), default=np.nan)


def declared_sensitivity(given: float | None, experiment: Experiment | None) -> float | None:
    """What a reference row's privacy is worth against a training row's: as given, or as the experiment has
    declared it."""
    worth = experiment.reference_sensitivity if given is None and experiment is not None else given
    if worth is not None and not 0 <= worth < np.inf:
        raise ConfigError(f"the reference set's sensitivity must be at least 0, but is {worth:g}.")
    return worth


def judge_sets(
    verdicts: list[Verdict], rows: AuditRows, federation: Federation, task: Task, delta: float, seed: int
) -> tuple[Leakage, Leakage | None]:
    """The leakage of training rows and, where there are any, of reference rows, each with non-members of its
    own."""
    others, reference = rows.of(OTHERS), rows.of(REFERENCE)
    if not len(reference):
        return _judge(
            "training", rows.of(TRAINING), others, verdicts, rows, federation, task, delta, seed
        ), None
    first = generator(seed, "audit non-members").random(len(others)) < 0.5
    if first.all() or not first.any():
        raise DataError("there are too few non-members for two sets; the run needs more test rows.")
    return (
        _judge("training", rows.of(TRAINING), others[first], verdicts, rows, federation, task, delta, seed),
        _judge("reference", reference, others[~first], verdicts, rows, federation, task, delta, seed),
    )


def _judge(
    what: str,
    members: Int64s,
    others: Int64s,
    verdicts: list[Verdict],
    rows: AuditRows,
    federation: Federation,
    task: Task,
    delta: float,
    seed: int,
) -> Leakage:
    chosen = attack_set(members, others, rows, task, seed)
    names = [federation.name(i) for i in range(len(federation))]
    shift = domain_control(rows.x[chosen.rows], rows.y[chosen.rows], chosen.member, seed)
    return measure_leakage(
        what, verdicts, chosen, rows.owners, names, federation.groups, shift=shift, delta=delta, seed=seed
    )


def attack_set(members: Int64s, others: Int64s, rows: AuditRows, task: Task, seed: int) -> AttackSet:
    """As many members as non-members of every client and class."""
    places = np.concatenate([members, others])
    member = np.arange(len(places)) < len(members)
    labels = rows.classes(task)
    strata = {"client": rows.owners[places]} | ({} if labels is None else {"class": labels[places]})
    chosen = balance(member, strata, seed)
    return AttackSet(places[chosen.rows], chosen.member)


def measure_utility(target: Signals, rows: AuditRows) -> tuple[str, Rate]:
    """Accuracy on non-members or, for a regression, the loss, each with its interval."""
    others = rows.of(OTHERS)
    if target.correct is not None:
        return "accuracy", clopper_pearson(int(target.correct[others].sum()), len(others))
    mean, half = mean_interval(-target.scores["loss"][others])
    return "loss", Rate(mean, mean - half, mean + half, len(others))


def declared_values(run: Run, sensitivity: float | None) -> dict[str, float]:
    """What the audit takes on trust: accountants' epsilons, and what reference rows are worth."""
    declared = {} if sensitivity is None else {"reference_sensitivity": sensitivity}
    metrics, ledger = run.metrics(), getattr(run.setting.aggregator, "ledger", None)
    for name in EPSILONS:
        spent = metrics.get(name, np.zeros(0))
        spent = spent[np.isfinite(spent)]
        if len(spent):
            declared[name] = float(spent[-1])
    if "epsilon" in declared and ledger is not None:
        declared["delta"] = float(ledger.delta)
    return declared


def _warnings(training: Leakage, other: Leakage | None, personal: bool, kind: str) -> list[str]:
    said = []
    for part in (training, other):
        if part is not None and part.rows < _FEW:
            said.append(
                f"Only {part.rows} rows could be attacked as {part.what} rows and others: intervals are wide."
            )
    if personal and kind == "cohort":
        said.append("Clients predict with models of their own, but the reference models are shared ones.")
    return said
