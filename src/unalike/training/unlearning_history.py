"""Unlearning history of a training: models and upload norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from ..algorithms import Algorithm, FedAvg, FedProx
from ..core.run_files import UNLEARNING
from ..core.spec import Spec
from ..errors import ConfigError, unknown
from ..participation import Full, Renormalized
from ..timing import Synchronous
from ..trust.unlearning.history import BranchHistory
from ..trust.unlearning.measured_uploads import check_measurable, server_rate
from ..trust.unlearning.retention import Retention
from ..trust.unlearning.sensitivity import MODES, Mode, contraction
from ..typing import Float64s
from .plan import TrainingPlan, Unlearning


class LedgerTerms(NamedTuple):
    """How norms become sensitivities."""

    mode: Mode
    discount: float
    server_rate: float


def check_unlearning(unlearning: Unlearning, algorithm: Algorithm, l2: float, everyone: bool) -> LedgerTerms:
    """The terms of the ledger; raises where a method cannot be unlearned, or not with these settings."""
    retention = Retention.of(unlearning.keep)
    check_measurable(algorithm)
    terms = ledger_terms(unlearning.ledger, algorithm, l2, everyone)
    if retention.limit is not None and terms.discount != 1:
        raise ConfigError("a pruned history needs sensitivities that never fall; leave out the convexity.")
    return terms


def ledger_terms(ledger: str | None, algorithm: Algorithm, l2: float, everyone: bool) -> LedgerTerms:
    """The ledger's mode, what is left of a sensitivity after a round, and the server's rate.

    Args:
        ledger: as of :class:`Unlearning`.
        algorithm: FedAvg or FedProx.
        l2: the weight of the task's L2 term.
        everyone: whether all clients take part in every round.
    """
    spec = Spec.parse(ledger or ("full" if everyone else "realized"))
    if spec.name not in MODES:
        raise unknown("ledger", spec.name, MODES)
    if spec.name == "full" and not everyone:
        raise ConfigError(
            "the ledger full means that all clients take part in every round; choose realized, or leave out "
            "per_round."
        )
    rate = server_rate(algorithm)
    return LedgerTerms(cast(Mode, spec.name), _discount(ledger, algorithm, l2, rate), rate)


def proximal_weight(algorithm: Algorithm) -> float:
    """The weight mu of the pull towards the round's model, 0 where there is none."""
    return float(algorithm.mu) if isinstance(algorithm, FedProx) else 0.0


def declared_convexity(ledger: str | None) -> float | None:
    """How strongly convex losses were declared to be, without the L2 term; None where nothing was.

    >>> declared_convexity("full:0.1"), declared_convexity("full")
    (0.1, None)
    """
    spec = None if ledger is None else Spec.parse(ledger)
    if spec is None or not spec.arguments:
        return None
    convexity, *more = spec.arguments
    if more or isinstance(convexity, str):
        raise ConfigError(f"ledger = {spec.text!r} is not of the form {spec.name}:CONVEXITY.")
    return float(convexity)


def _discount(ledger: str | None, algorithm: Algorithm, l2: float, rate: float) -> float:
    """How much is left of a sensitivity after a round, by the declared strong convexity and the L2 term."""
    convexity = declared_convexity(ledger)
    if convexity is None:
        return 1.0
    assert isinstance(algorithm, FedAvg)
    work, optimizer = algorithm.work, algorithm.optimizer
    steps = work.epochs if work.batch_size == 0 and work.steps is None else work.steps
    plain = optimizer.name == "sgd" and not optimizer.options and optimizer.custom is None
    if steps is None or not plain or optimizer.schedule != "constant" or rate != 1:
        raise ConfigError(
            "a declared convexity needs a known number of plain gradient steps (steps, optimizer sgd without "
            "momentum, a constant learning rate) and a server rate of 1."
        )
    return contraction(optimizer.learning_rate, steps, l2 + convexity, proximal_weight(algorithm))


def check_unlearning_plan(plan: TrainingPlan) -> None:
    """Raise where a round is more than the weighted mean of models that started from the same one."""
    if plan.unlearning is None:
        return
    impossible = {
        "stream": plan.stream is not None,
        "participation": not isinstance(plan.participation, Full | Renormalized),
        "timing": not isinstance(plan.timing, Synchronous),
        "restarts": plan.restarts > 1,
        "unseen": plan.newcomers is not None,
        "behavior": bool(plan.algorithm.dishonest),
    }
    for name, asked in impossible.items():
        if asked:
            raise ConfigError(f"{name} is not possible with unlearning; leave out one of them.")
    _plan_terms(plan, plan.unlearning)


def keeping_history(plan: TrainingPlan, run: Path | None) -> TrainingPlan:
    """The plan, whose models and norms are kept in a run folder where clients may have to be forgotten."""
    if plan.unlearning is None or plan.keeper is not None:
        return plan
    if run is None:
        raise ConfigError("unlearning keeps models in the run folder; say where, with out.")
    names = [plan.federation.name(i) for i in range(len(plan.federation))]
    terms = _plan_terms(plan, plan.unlearning)
    history = branch_history(plan.unlearning.keep, run, 0, terms, plan.federation.importance, names)
    return replace(plan, keeper=history)


def _plan_terms(plan: TrainingPlan, unlearning: Unlearning) -> LedgerTerms:
    return check_unlearning(unlearning, plan.algorithm, plan.task.l2, plan.participation.everyone)


def branch_history(
    keep: str, run: Path, branch: int, terms: LedgerTerms, importance: Float64s, names: Sequence[str] = ()
) -> BranchHistory:
    """Where a training of a run keeps its models and norms; branch r is the retraining of request r."""
    folder = run / UNLEARNING / f"branch-{branch}"
    return BranchHistory(folder, Retention.of(keep), importance, terms.mode, terms.server_rate, names)
