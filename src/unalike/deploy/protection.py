"""Privacy protection of a deployment: which engine provides it, and is it unchanged at resume?"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import NamedTuple

from ..engine import Setting
from ..errors import ConfigError
from ..experiments.build import make_aggregator, make_algorithm
from ..experiments.build_privacy import central_words, check_privacy
from ..experiments.config import Experiment
from ..participation import Full, Participation
from ..privacy.central import CentralPrivacy, central_privacy, check_private
from ..runs import Record
from ..trust.unlearning.measured_uploads import MeasuredUploads
from ..typing import Document
from .client_config import ClientConfig
from .engine import FlowerEngine
from .transport.mailbox import Mailbox

CENTRAL = "central privacy"


class Protection(NamedTuple):
    """What a server promises: sums only, and noise in them (as the words CLIP,NOISE)."""

    secure: bool = False
    central: str | None = None
    budget: float | None = None
    """The epsilon that no client may go beyond; training ends before."""

    @classmethod
    def of(cls, experiment: Experiment, secure: bool, central: str | None) -> Protection:
        """What an experiment and the options of a server say; noise that is not given is chosen."""
        words = experiment.central_dp if central is None else central
        if experiment.local_dp is not None:
            raise ConfigError("local_dp is a node's own decision; say it to `unalike join`.")
        if words is None and (experiment.epsilon is not None or experiment.delta is not None):
            raise ConfigError("epsilon and delta are the budget of --central-dp; say its clipping norm.")
        if words is None or (experiment.epsilon is None and experiment.delta is None):
            return cls(secure, words)  # as it was typed, so that a run goes on with the same words
        described = experiment.model_copy(update={"central_dp": words})
        check_privacy(described)
        return cls(secure, central_words(described), experiment.epsilon)

    def check(self, experiment: Experiment, clients: int, who: Participation | None = None) -> None:
        """Raise where an experiment cannot be run like this, as far as that is known without its clients."""
        algorithm, participation = make_algorithm(experiment), who or Full()
        self._check_aggregator(experiment, clients)
        if self.central is not None:
            central_privacy(self.central, clients, lambda words: None)
            check_private(CENTRAL, experiment.algorithm, algorithm, participation)
        if self.secure:
            from ..privacy.secure_aggregation import check_secure

            each = clients if experiment.per_round is None else min(experiment.per_round, clients)
            check_secure(experiment.algorithm, algorithm, participation, experiment.timing, each)

    def _check_aggregator(self, experiment: Experiment, clients: int) -> None:
        """Raise where what the experiment does with uploads does not go with their protection."""
        if experiment.aggregator is not None and self.central is not None:
            raise ConfigError("--central-dp is an aggregator; leave out the other one.")
        if experiment.monitor is not None and self.central is not None:
            raise ConfigError(
                "--monitor looks at uploads that --central-dp is to hide; leave out one of them."
            )
        if experiment.unlearning is not None and self.central is not None:
            raise ConfigError("unlearning measures plain means; leave out --central-dp.")
        rule = make_aggregator(experiment, clients)
        rule = rule if experiment.unlearning is None else MeasuredUploads(rule)
        if self.secure and rule.hidden is not None:
            asked = [name for name in ("unlearning", "monitor", "aggregator") if getattr(experiment, name)]
            raise ConfigError(
                f"--secure-aggregation hides single uploads, but {asked[0]} needs them ({rule.hidden}); "
                "leave out one of the two."
            )

    def engine(
        self,
        setting: Setting,
        mailbox: Mailbox,
        client_configs: list[ClientConfig],
        patience: float,
        refused_nodes: Callable[[], list[str]],
        record: Record,
        streaming: Collection[int] = (),
    ) -> FlowerEngine:
        """The engine that keeps the promise; a run that goes on must have been promised the same."""
        self._remember(record)
        privacy = self._privacy(len(client_configs), record)
        if privacy is not None:
            setting = setting._replace(aggregator=privacy)
        if not self.secure:
            return FlowerEngine(setting, mailbox, client_configs, patience, refused_nodes, streaming)
        from .secure_aggregation.engine import SecureEngine

        return SecureEngine(setting, mailbox, client_configs, patience, refused_nodes)

    def _privacy(self, clients: int, record: Record) -> CentralPrivacy | None:
        if self.central is None:
            return None
        privacy = central_privacy(
            self.central, clients, lambda words: record.set_meta("privacy", words), self.budget
        )
        spent = record.meta().get("privacy")
        if spent is not None:
            privacy.ledger.restore(spent)
        return privacy

    def _remember(self, record: Record) -> None:
        meta = record.meta()
        known = Protection(*json.loads(meta["protection"])) if "protection" in meta else None
        if known is not None and known != self:
            raise ConfigError(f"this run was begun with {known}; go on with the same, not with {self}.")
        record.set_meta("protection", json.dumps(self))

    def as_dict(self) -> Document:
        """For people who read a run's configuration.

        >>> Protection(True, "1,0.8").as_dict()["noise"]
        0.8
        """
        promised: Document = {"secure_aggregation": self.secure}
        if self.central is None:
            return promised
        privacy = central_privacy(self.central, 1, lambda words: None)
        promised |= {"clip": privacy.clip, "noise": privacy.noise, "delta": privacy.ledger.delta}
        promised |= {} if self.budget is None else {"epsilon": self.budget}
        return {**promised, "protects": "every client (node), towards everybody but the server"}

    def __str__(self) -> str:
        """As options of the command line."""
        words = ["--secure-aggregation"] * self.secure
        words += [f"--central-dp {self.central}"] * (self.central is not None)
        words += [f"--epsilon {self.budget:g}"] if self.budget is not None else []
        return " ".join(words) or "no protection"
