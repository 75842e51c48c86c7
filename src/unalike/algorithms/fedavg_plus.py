"""FedAvg+: every client fine-tunes the global model on its rows before it predicts (Jiang et al., Improving
Federated Learning Personalization via Model Agnostic Meta Learning, 2019). The tuned model is never sent.

    predict:  w_i <- one pass of descent from w over data_i
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax

from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor
from .base import LocalWork, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.optimizer_steps import with_rate
from .shared.optimizers import Optimizer


@algorithm_registry.add("fedavg+")
@dataclass(frozen=True, kw_only=True)
class FedAvgPlus(FedAvg):
    """FedAvg whose clients fine-tune the model on their own data before predicting (Jiang et al., 2019)."""

    tune_epochs: int = 1
    tune_learning_rate: float | None = None
    """The rate of the tuning steps; the training rate when not given."""

    name: ClassVar[str] = "fedavg+"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(rows_to_predict=True)

    def __post_init__(self) -> None:
        if self.tune_epochs < 0:
            raise ConfigError(f"tune_epochs must not be negative, but is {self.tune_epochs}.")
        self._tuning  # noqa: B018 - a bad learning rate is refused now, not at the first evaluation

    @property
    def evaluation_work(self) -> LocalWork:
        return replace(self.work, epochs=self.tune_epochs, steps=None)

    @property
    def _tuning(self) -> Optimizer:
        """The schedule is one of training; where it has decayed, tuning must not stand still."""
        return replace(with_rate(self.optimizer, self.tune_learning_rate), schedule="constant")

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return local_sgd(task, message, data, self._tuning).params
