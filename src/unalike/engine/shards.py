"""Shards of clients: pieces of a federation that are computed apart.

Every client belongs to one shard, which holds its rows and what it remembers. Shards are made so that all
have about the same work; a client's draws depend on its number in the whole federation, so the answer does
not depend on the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..algorithms import LocalWork, Messages
from ..data.streams import Stream, StreamPart
from ..errors import ConfigError
from ..timing import Step
from ..typing import ClientIds, Float64s, Int64s, Memory, PyTree
from .base import Part, Setting
from .distributed import Visited
from .local.engine import LocalEngine
from .local.layout import assign_to_cores
from .memories import Memories


def partition_clients(work: LocalWork, sizes: Int64s, shards: int) -> list[Int64s]:
    """The clients of each shard, balanced by the local steps that they take.

    >>> shards = partition_clients(LocalWork(batch_size=1), np.array([9, 1, 1, 1, 1, 2]), 2)
    >>> [clients.tolist() for clients in shards]
    [[0], [1, 2, 3, 4, 5]]
    """
    if not 1 <= shards <= len(sizes):
        raise ConfigError(f"{len(sizes)} clients can be cut into 1 to {len(sizes)} shards, not {shards}.")
    layout = assign_to_cores(local_steps(work, sizes), shards)
    width = len(layout.place) // shards
    return [layout.place[k * width : k * width + taken] for k, taken in enumerate(layout.taken)]


def local_steps(work: LocalWork, sizes: Int64s) -> Int64s:
    """How many mini-batches clients with so many rows take in a round; at least one, for the visit."""
    width = work.batch_size or max(1, int(sizes.max(initial=1)))
    passes = 1 if work.epochs is None else work.epochs
    steps = np.full(len(sizes), work.steps) if work.steps is not None else passes * -(-sizes // width)
    return np.maximum(steps, 1)


def shard_setting(setting: Setting, clients: ClientIds, devices: int | None = None) -> Setting:
    """The setting of some of the clients, who still know who they are in the whole."""
    federation = setting.federation
    part = Part(clients, federation.importance[clients], setting.most_rows())
    alone = replace(federation, given_importance=None).subset(clients)  # the part knows who counts how much
    stream = part_stream(setting.stream, clients, federation.train.offsets)
    return setting._replace(federation=alone, part=part, devices=devices, stream=stream)


def part_stream(stream: Stream | None, clients: ClientIds, offsets: Int64s) -> Stream | None:
    """The stream of some of the clients; `offsets` are those of the whole federation."""
    return None if stream is None else StreamPart(stream, clients, offsets)


class Shard:
    """Some clients of a federation, with what they remember; steps speak of them by their numbers in the
    whole."""

    def __init__(self, setting: Setting, template: Memory) -> None:
        assert setting.part is not None
        self.engine = LocalEngine(setting)
        self.memories = Memories(template, len(setting.federation))
        self._numbers = setting.part.numbers

    def visit(self, step: Step, messages: Messages, keep: bool) -> Visited:
        """Let some of the shard's clients work."""
        here = step._replace(clients=self._here(step.clients))
        done = self.engine.visit(here, messages, self.memories, keep)
        if done.uploads is None:
            return done
        return done._replace(uploads=done.uploads._replace(client=step.clients.astype(np.int32)))

    def evaluate(self, messages: Messages, split: str, round: int, clients: ClientIds) -> dict[str, Float64s]:
        """Metrics of some of the shard's clients; the messages are those of all of the shard's clients."""
        return self.engine.evaluate(messages, self.memories, split, round, self._here(clients))

    def remembered(self, clients: ClientIds) -> tuple[Int64s, PyTree]:
        """Those of some clients who remember anything, and what."""
        here = self._here(clients)
        known = here[~self.memories.fresh(here)]
        return self._numbers[known], self.memories.gather(known)[0]

    def remember(self, clients: ClientIds, memories: Memory) -> None:
        """From now on these clients remember this."""
        self.memories.scatter(self._here(clients), memories)

    def _here(self, clients: ClientIds) -> Int64s:
        """Numbers in the whole as places in this shard."""
        order = np.argsort(self._numbers)
        return order[np.searchsorted(self._numbers, clients, sorter=order)]


class ShardPart(NamedTuple):
    """What one shard has to do in a step."""

    places: Int64s
    """Where its clients are in the cohort."""
    step: Step
    messages: Messages


def parts_of(step: Step, messages: Messages, owner: Int64s) -> Mapping[int, ShardPart]:
    """Each shard's part of a step; `owner` says whose clients are whose."""
    shards = owner[step.clients]
    return {int(k): _part(step, messages, np.flatnonzero(shards == k)) for k in np.unique(shards)}


def _part(step: Step, messages: Messages, places: Int64s) -> ShardPart:
    jobs = None if step.jobs is None else step.jobs[places]
    weights = step.weights[places] if step.weights.ndim == 1 else np.ones(len(places))
    some = Step(step.number, step.clients[places], step.versions[places], weights, jobs=jobs)
    return ShardPart(places, some, messages.select(places).alone())
