"""How do an experiment's words on unlearning become a ledger and a history?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from ..aggregation.base import Aggregator
from ..algorithms import Algorithm, FedProx
from ..core.run_files import UNLEARNING
from ..core.spec import Spec
from ..data import Federation
from ..errors import ConfigError, unknown
from ..runs import RunFolder
from ..trust.unlearning.history import BranchHistory
from ..trust.unlearning.measured_uploads import MeasuredUploads, check_measurable, server_rate
from ..trust.unlearning.retention import Retention
from ..trust.unlearning.sensitivity import MODES, Mode, contraction
from ..typing import Float64s
from .config import Experiment

UNSUPPORTED = (
    *("stream", "network", "availability", "participation", "sampling", "hardware", "bandwidth"),
    *("dropout", "timeout", "until", "behaviour", "dishonest"),
)
"""Settings under which a round is more than the weighted mean of models that started from the same one."""


class LedgerTerms(NamedTuple):
    """How norms become sensitivities."""

    mode: Mode
    discount: float
    server_rate: float


def check_unlearning(experiment: Experiment, algorithm: Algorithm) -> None:
    """Raise where words on unlearning are wrong, or do not go with the rest."""
    if experiment.unlearning is None:
        if experiment.ledger is not None:
            raise ConfigError(
                "ledger is about unlearning; say what is kept for it, such as unlearning = full."
            )
        return
    retention = Retention.of(experiment.unlearning)
    check_measurable(algorithm)
    terms = ledger_terms(experiment, algorithm)
    if retention.limit is not None and terms.discount != 1:
        raise ConfigError("a pruned history needs sensitivities that never fall; leave out the convexity.")
    for name in UNSUPPORTED:
        if getattr(experiment, name) not in (None, "full", 0):
            raise ConfigError(
                f"{name} = {getattr(experiment, name)!r} is not possible with unlearning; leave out one of "
                "them."
            )
    if experiment.unseen:
        raise ConfigError("unlearning and unseen do not go together; leave out unseen.")
    if experiment.timing != "synchronous" or experiment.restarts > 1:
        raise ConfigError("unlearning needs synchronous rounds and one start; leave out timing and restarts.")


def ledger_terms(experiment: Experiment, algorithm: Algorithm) -> LedgerTerms:
    """The ledger's mode, what is left of a sensitivity after a round, and the server's rate."""
    usual = "full" if experiment.per_round is None else "realised"
    spec = Spec.parse(experiment.ledger or usual)
    if spec.name not in MODES:
        raise unknown("ledger", spec.name, MODES)
    if spec.name == "full" and experiment.per_round is not None:
        raise ConfigError(
            "the ledger full means that all clients take part in every round; choose realised, or leave out "
            "per_round."
        )
    rate = server_rate(algorithm)
    discount = _discount(experiment, rate, proximal_weight(algorithm))
    return LedgerTerms(cast(Mode, spec.name), discount, rate)


def proximal_weight(algorithm: Algorithm) -> float:
    """The weight mu of the pull towards the round's model, 0 where there is none."""
    return float(algorithm.mu) if isinstance(algorithm, FedProx) else 0.0


def declared_convexity(experiment: Experiment) -> float | None:
    """How strongly convex losses were declared to be, without the L2 term; None where nothing was."""
    spec = experiment.spec("ledger")
    if spec is None or not spec.arguments:
        return None
    convexity, *more = spec.arguments
    if more or isinstance(convexity, str):
        raise ConfigError(f"ledger = {spec.text!r} is not of the form {spec.name}:CONVEXITY.")
    return float(convexity)


def _discount(experiment: Experiment, rate: float, proximal: float) -> float:
    """How much is left of a sensitivity after a round, by the declared strong convexity and the L2 term."""
    convexity = declared_convexity(experiment)
    if convexity is None:
        return 1.0
    steps = experiment.epochs if experiment.batch_size == 0 else experiment.steps
    plain = experiment.optimizer == "sgd" and not experiment.momentum and experiment.schedule == "constant"
    if experiment.steps is not None:
        steps = experiment.steps
    if steps is None or not plain or rate != 1:
        raise ConfigError(
            "a declared convexity needs a known number of plain gradient steps (steps, optimizer sgd without "
            "momentum, a constant learning rate) and a server rate of 1."
        )
    return contraction(experiment.learning_rate, steps, experiment.l2 + convexity, proximal)


def measured(experiment: Experiment, aggregator: Aggregator) -> Aggregator:
    """The aggregator, which also measures uploads where clients may have to be forgotten."""
    return aggregator if experiment.unlearning is None else MeasuredUploads(aggregator)


def make_history(
    experiment: Experiment, out: str | Path | RunFolder | None, algorithm: Algorithm, federation: Federation
) -> BranchHistory | None:
    """Where the first training keeps its models and norms; None where nothing is to be kept."""
    if experiment.unlearning is None:
        return None
    if out is None:
        raise ConfigError("unlearning keeps models in the run folder; say where, with out.")
    path = out.path if isinstance(out, RunFolder) else Path(out)
    names = [federation.name(i) for i in range(len(federation))]
    terms = ledger_terms(experiment, algorithm)
    return branch_history(experiment, path, 0, terms, federation.importance, names)


def branch_history(
    experiment: Experiment,
    run: Path,
    branch: int,
    terms: LedgerTerms,
    importance: Float64s,
    names: Sequence[str] = (),
) -> BranchHistory:
    """Where a training of a run keeps its models and norms; branch r is the retraining of request r."""
    retention = Retention.of(experiment.unlearning or "full")
    folder = run / UNLEARNING / f"branch-{branch}"
    return BranchHistory(folder, retention, importance, terms.mode, terms.server_rate, names)
