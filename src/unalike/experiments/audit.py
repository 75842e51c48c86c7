"""What does a finished run tell about the rows it was trained on?  (`unalike audit`.)

    collect    distinct training, test and reference rows, at most so many
    train      reference models on random halves of them
    attack     every attack, on every row, by the predictor of the row's client
    judge      on balanced sets: members against non-members, training and reference rows with other ones

The three metrics of the report card are those that defences with reference data must be judged by: utility,
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
from ..privacy.audit.attacks import Evidence, Verdict, check_references, run_attacks
from ..privacy.audit.leakage import Leakage, measure_leakage
from ..privacy.audit.report_card import ReportCard
from ..privacy.audit.shift import domain_control
from ..privacy.audit.signals import Signals
from ..privacy.audit.statistics import Rate, clopper_pearson
from ..runs.statistics import mean_interval
from ..training.run import Run
from ..typing import Int64s
from .audit_references import choose_kind, train_references
from .audit_rows import OTHERS, REFERENCE, TRAINING, AuditRows, collect_rows, run_signals
from .config import Experiment
from .reopen import reopened

DEFAULT_REFERENCES, DEFAULT_ROWS = 16, 10_000
DELTA = 1e-5
VALIDATION = "validation"
_FEW = 200
"""Rows below which intervals are too wide to say much."""


def audit(
    path: str | Path,
    *,
    references: int = DEFAULT_REFERENCES,
    kind: str | None = None,
    reference: str | None = None,
    sensitivity: float | None = None,
    rows: int = DEFAULT_ROWS,
    delta: float = DELTA,
    seed: int = 0,
) -> ReportCard:
    """The report card of the finished run in a folder, which is not changed; see :func:`audit_run`.
    `reference` is "validation" for rows that chose the model, "none", or None for those if there are any."""
    check_references(references)
    with reopened(path) as (experiment, run):
        part = reference_part(run.setting.federation, reference)
        return audit_run(
            run,
            experiment,
            references=references,
            kind=kind,
            reference=part,
            sensitivity=sensitivity,
            rows=rows,
            delta=delta,
            seed=seed,
        )


def reference_part(federation: Federation, reference: str | None) -> Split | None:
    """The reference rows of a federation, as words name them."""
    if reference not in (None, "none", VALIDATION):
        raise ConfigError(f"reference = {reference!r} names no rows; allowed are {VALIDATION} and none.")
    if reference == VALIDATION or (reference is None and len(federation.validation.y)):
        return federation.validation
    return None


def audit_run(
    run: Run,
    experiment: Experiment | None = None,
    *,
    references: int = DEFAULT_REFERENCES,
    kind: str | None = None,
    reference: Split | None = None,
    sensitivity: float | None = None,
    rows: int = DEFAULT_ROWS,
    delta: float = DELTA,
    seed: int = 0,
) -> ReportCard:
    """Attack a run with `references` models of a kind ("cohort", or "runs" where clients have models of their
    own, which needs the experiment), on at most so many `rows`; `reference` are rows that a defence has used
    beside the training rows, and `sensitivity` what their privacy is worth against a training row's."""
    personal = run.setting.algorithm.personalized or run.messages.per_client
    kind = choose_kind(kind, experiment, personal)
    check_references(references)
    if sensitivity is not None and not 0 <= sensitivity < np.inf:
        raise ConfigError(f"the reference set's sensitivity must be at least 0, but is {sensitivity:g}.")
    federation, task = run.setting.federation, run.setting.task
    table = collect_rows(federation, reference, rows, seed)
    target = run_signals(run, table)
    loss = -float(target.scores["loss"][table.of(TRAINING)].mean()) if len(table.of(TRAINING)) else np.nan
    again = experiment if kind == "runs" else None
    found = train_references(run, again, table, references, loss, seed)
    labels = table.classes(task)
    evidence = Evidence(target, found.signals, found.inside, labels, table.of(OTHERS))
    verdicts = run_attacks(evidence, seed)
    training, other = judge_sets(verdicts, table, federation, task, delta, seed)
    name, utility = measure_utility(target, table)
    shifts = [part.shift.said() for part in (training, other) if part is not None and part.shift is not None]
    return ReportCard(
        name,
        utility,
        training,
        other,
        declared_values(run, sensitivity),
        {
            "references": references,
            "kind": kind,
            "rows": len(table),
            "members": len(table.of(TRAINING)),
            "non_members": len(table.of(OTHERS)),
            "reference_rows": len(table.of(REFERENCE)),
            "seed": seed,
        },
        (found.note, *table.removed, *shifts, *_warnings(training, other, personal, kind)),
    )


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
    """What the audit takes on trust: the accountant's epsilon, and what reference rows are worth."""
    declared = {} if sensitivity is None else {"reference_sensitivity": sensitivity}
    spent = run.metrics().get("epsilon", np.zeros(0))
    spent = spent[np.isfinite(spent)]
    ledger = getattr(run.setting.aggregator, "ledger", None)
    if len(spent):
        declared |= {"epsilon": float(spent[-1])} | ({} if ledger is None else {"delta": float(ledger.delta)})
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
