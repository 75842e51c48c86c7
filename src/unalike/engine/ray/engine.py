"""The Ray engine: simulations on a cluster.

    worker k:  sum over its clients of weight_i * upload_i          all workers at the same time
    here:      state = the server's step on the sum of these sums

The clients are cut into shards, one for each worker of a Ray cluster. Rows and memories stay with the worker;
a model goes out and one weighted sum comes back, however many clients a worker has.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from ...algorithms import Messages
from ...data.federation import Split
from ...errors import ConfigError
from ...timing import Step
from ...typing import ClientIds, Event, Int64s, Memory, PyTree
from ..base import Setting, engine_registry
from ..distributed import Distributed, Visited, join
from ..local.devices import mesh
from ..local.evaluation import Means, empty_means, evaluate_shared, place_evaluation_rows
from ..memories import Memories
from ..shards import ShardPart, partition_clients, parts_of
from .actor_reuse import Actor
from .memories import ShardedMemories
from .pool import Call, Pool, Reference
from .session import connect, library, room

SentMessages = tuple[PyTree, Int64s | None]
"""The tree of messages, or a reference to it in Ray's store, and which of them each client is sent."""


@engine_registry.add("ray")
class RayEngine(Distributed):
    """A Ray cluster; `ray:4` has four workers, `ray:4,2` gives each two cores."""

    def __init__(self, workers: int | None = None, cores: int | None = None, *, setting: Setting) -> None:
        library()
        self.setting = setting
        cores = _cores(cores, setting)
        _check("the number of workers", workers)
        ray = connect()
        count = _workers(workers, cores, room(ray, cores), len(setting.federation))
        shares = partition_clients(setting.algorithm.work, setting.federation.train.sizes, count)
        self.pool = Pool(ray, setting, shares, cores)
        self._last: tuple[PyTree, PyTree] = (None, None)

    def memories(self, template: Memory, clients: int) -> Memories:
        """With the workers, who are there when this returns."""
        self.pool.begin(template)
        return ShardedMemories(template, clients, self.pool)

    def visit(self, step: Step, messages: Messages, memories: Memories, keep: bool) -> Visited:
        """Every worker lets its own clients work."""
        parts = parts_of(step, messages, self.pool.owner)
        calls = {k: _visit(part, self._sent(part.messages), keep) for k, part in parts.items()}
        answers = self.pool.ask(calls)
        if memories:
            assert isinstance(memories, ShardedMemories)
            memories.admit(step.clients)
            for k, (_, remembered) in answers.items():
                self.pool.note(k, remembered, len(parts[k].places))
        return join([answers[k][0] for k in parts], [part.places for part in parts.values()])

    def evaluate(
        self,
        messages: Messages,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> Means:
        """Every worker evaluates its own clients."""
        chosen = np.arange(len(self.pool.owner)) if clients is None else clients
        owner = self.pool.owner[chosen]
        slots = {int(k): np.flatnonzero(owner == k) for k in np.unique(owner)}
        sent = {k: self._sent(messages.select(self.pool.shares[k]).alone()) for k in slots}
        calls = {k: _evaluate(sent[k], split, round, chosen[place]) for k, place in slots.items()}
        means = empty_means(len(chosen), self.setting.task, getattr(self.setting.federation, split))
        for k, (found, *_) in self.pool.ask(calls).items():
            for name, values in found.items():
                means.setdefault(name, np.full((len(chosen), *values.shape[1:]), np.nan))[slots[k]] = values
        return means

    @property
    def judges_rows(self) -> bool:
        return not (self.setting.algorithm.personalized or self.setting.algorithm.decentralized)

    def evaluate_rows(
        self, messages: Messages, memories: Memories, part: Split, round: int, clients: ClientIds
    ) -> Means | None:
        """One model is evaluated here, where the rows are; those of single clients are with the workers."""
        if self.setting.algorithm.personalized or messages.per_client:
            return None
        cores = mesh()
        return evaluate_shared(
            self.setting, cores, messages.tree, place_evaluation_rows(part, clients, cores)
        )

    def events(self) -> list[Event]:
        """Workers that were started again."""
        happened, self.pool.events = self.pool.events, []
        return happened

    def close(self) -> None:
        """End the workers, and Ray where it was started for them."""
        self.pool.close()

    def _sent(self, messages: Messages) -> SentMessages:
        """Messages for a worker: one for all workers is put into Ray's store once, for all that is asked
        about it."""
        if messages.rows is not None:
            return messages.tree, messages.rows
        if self._last[0] is not messages.tree:
            self._last = (messages.tree, self.pool.ray.put(jax.tree.map(np.asarray, messages.tree)))
        return self._last[1], None


def _visit(part: ShardPart, sent: SentMessages, keep: bool) -> Call:
    def call(actor: Actor) -> Sequence[Reference]:
        answer: Sequence[Reference] = actor.visit.options(num_returns=2).remote(part.step, *sent, keep)
        return answer

    return call


def _evaluate(sent: SentMessages, split: str, round: int, clients: ClientIds) -> Call:
    return lambda actor: [actor.evaluate.remote(*sent, split, round, clients)]


def _cores(cores: int | None, setting: Setting) -> int:
    """Cores of each worker."""
    _check("the number of cores per worker", cores)
    _check("devices, the number of cores per worker,", setting.devices)
    if cores is not None and setting.devices not in (None, cores):
        raise ConfigError(
            f"devices is {setting.devices}, but workers have {cores} cores; leave out one of them."
        )
    return cores or setting.devices or 1


def _check(what: str, number: object) -> None:
    if number is not None and (type(number) is not int or number < 1):
        raise ConfigError(f"{what} must be a whole number from 1, but is {number!r}: ray:WORKERS,CORES.")


def _workers(asked: int | None, cores: int, slots: int, clients: int) -> int:
    """How many workers there are: as many as fit, but not more than clients."""
    if slots < (asked or 1):
        raise ConfigError(
            f"the Ray cluster has room for {slots} workers with {cores} cores each, not for {asked or 1}."
        )
    return min(asked or slots, clients)
