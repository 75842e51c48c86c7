"""What if a method stands around another?  (A wrapper that hands on whatever it does not change.)

Rehearsed misconduct and noise that clients add by themselves change what some function of a method gives, and
leave the rest as it is: each says only what is different about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax

from ...data import Federation
from ...models import Task
from ...typing import Int64s, Memory, Message, Params, Predictor, State, Upload
from ..base import Aggregate, Algorithm, LocalWork, PrivateRows, Reply, UploadNoise
from .client_data import ClientData
from .messages import Messages


@dataclass(frozen=True, kw_only=True)
class AlgorithmWrapper(Algorithm):
    """An algorithm around an `inner` one, which it is in everything that a subclass does not change.

    >>> from unalike.algorithms import FedAvg
    >>> AlgorithmWrapper(inner=FedAvg()).name
    'fedavg'
    """

    inner: Algorithm

    @property
    def method(self) -> Algorithm:
        """The wrapped method, with the local work that this one was given."""
        return self.inner if self.work == self.inner.work else replace(self.inner, work=self.work)

    @property
    def dishonest(self) -> tuple[int, ...]:
        return self.inner.dishonest

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    def personalized(self) -> bool:  # type: ignore[override]
        return self.inner.personalized

    @property
    def predicts_from_rows(self) -> bool:  # type: ignore[override]
        return self.inner.predicts_from_rows

    @property
    def keeps_uploads(self) -> bool:  # type: ignore[override]
        return self.inner.keeps_uploads

    @property
    def sums_by_importance(self) -> bool:  # type: ignore[override]
        return self.inner.sums_by_importance

    @property
    def decentralized(self) -> bool:  # type: ignore[override]
        return self.inner.decentralized

    @property
    def needs_rounds(self) -> bool:  # type: ignore[override]
        return self.inner.needs_rounds

    @property
    def rounds_per_step(self) -> int:
        return self.inner.rounds_per_step

    @property
    def weighs_rounds(self) -> bool:  # type: ignore[override]
        return self.inner.weighs_rounds

    @property
    def converges(self) -> bool:  # type: ignore[override]
        return self.inner.converges

    @property
    def noise_from_seed(self) -> bool:  # type: ignore[override]
        return self.inner.noise_from_seed

    @property
    def takes_state(self) -> bool:  # type: ignore[override]
        return self.inner.takes_state

    @property
    def double_precision(self) -> bool:  # type: ignore[override]
        return self.inner.double_precision

    @property
    def evaluation_work(self) -> LocalWork:
        return self.method.evaluation_work

    def init(self, task: Task, key: jax.Array) -> State:
        return self.method.init(task, key)

    def weigh_round(self, state: State, weight: float) -> State:
        return self.method.weigh_round(state, weight)

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return self.method.init_client(task, message, key)

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return self.method.newcomer(task, message, data, key)

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return self.method.traffic(message, upload)

    def notices(self, memories: Memory, rows: Int64s) -> list[dict[str, Any]]:
        return self.method.notices(memories, rows)

    def private_rows(self, sizes: Int64s) -> Mapping[str, PrivateRows]:
        return self.inner.private_rows(sizes)

    @property
    def upload_noise(self) -> UploadNoise | None:
        return self.inner.upload_noise

    def with_noise(self, **chosen: float) -> Algorithm:
        return replace(self, inner=self.inner.with_noise(**chosen))

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        return replace(self, inner=self.method.prepare(task, federation))

    def broadcast(self, task: Task, state: State) -> Message:
        return self.method.broadcast(task, state)

    def messages(self, task: Task, state: State) -> Messages:
        return self.method.messages(task, state)

    def own_message(self, message: Message, client: int | None) -> Message:
        return self.method.own_message(message, client)

    def own_upload(self, upload: Upload, client: int) -> Upload:
        return self.method.own_upload(upload, client)

    def models(self, message: Message) -> Params:
        return self.method.models(message)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        return self.method.client(task, message, memory, data, key)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        return self.method.aggregate(task, state, mixed)

    def finished(self, task: Task, state: State) -> bool:
        return self.method.finished(task, state)

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return self.method.predictor(task, message, memory, data, key)

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        return self.method.predict(task, predictor, x)
