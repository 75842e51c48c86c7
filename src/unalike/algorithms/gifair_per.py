"""GIFAIR-Per: GIFAIR whose clients predict with the models that they trained themselves (Yue, Nouiehed, Al
Kontar, GIFAIR-FL: A Framework for Group and Individual Fairness in Federated Learning, 2022).

    minimize  sum_k p_k F_k(w) + lam sum_{i<j} |L_i - L_j|       L_i: mean over group i of  F_k(w_k)
    client:   w_k <- descend from w with every gradient times 1 + c_k, as in GIFAIR;    kept, and sent
    predict:  with w_k

The losses that clients report are those of the models they predict with, so that ranks are exact without
another round. A client that joins later trains from w with a multiplier of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor
from .base import Reply, algorithm_registry
from .gifair import Gifair
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.newcomers import TrainsNewcomers, require_not_negative


@algorithm_registry.add("gifair-per")
@dataclass(frozen=True, kw_only=True)
class GifairPer(TrainsNewcomers, Gifair):
    """GIFAIR whose clients predict with their own trained models (Yue et al., 2022)."""

    name: ClassVar[str] = "gifair-per"

    def __post_init__(self) -> None:
        Gifair.__post_init__(self)
        require_not_negative(newcomer_epochs=self.newcomer_epochs)
        if self.exact:
            raise ConfigError("ranks of gifair-per are exact already; leave out exact, or choose gifair.")

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"params": message["params"]})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        reply = super().client(task, message, memory, data, key)
        return reply._replace(memory=Memory({"params": reply.upload["params"]}))

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return Memory({"params": local_sgd(task, message["params"], data, self.optimizer).params})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return memory["params"]
