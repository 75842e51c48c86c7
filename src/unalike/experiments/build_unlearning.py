"""Building the unlearning history of an experiment from its settings."""

from __future__ import annotations

from ..algorithms import Algorithm
from ..errors import ConfigError
from ..training import unlearning_history
from ..training.plan import Unlearning
from ..training.unlearning_history import LedgerTerms
from .config import Experiment, settings_of


def unlearning_of(experiment: Experiment) -> Unlearning | None:
    """What is kept, and how sensitivities are bounded; None where no client can be forgotten."""
    return None if experiment.unlearning is None else Unlearning(experiment.unlearning, experiment.ledger)


def check_unlearning(experiment: Experiment, algorithm: Algorithm) -> None:
    """Raise where settings of unlearning are wrong, or do not go with the rest."""
    unlearning = unlearning_of(experiment)
    if unlearning is None:
        if experiment.ledger is not None:
            raise ConfigError(
                "ledger is about unlearning; say what is kept for it, such as unlearning = full."
            )
        return
    everyone = experiment.per_round is None
    unlearning_history.check_unlearning(unlearning, algorithm, experiment.l2, everyone)
    for name in settings_of(unlearning=False):
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
    everyone = experiment.per_round is None
    return unlearning_history.ledger_terms(experiment.ledger, algorithm, experiment.l2, everyone)
