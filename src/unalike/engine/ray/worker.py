"""The Ray actor: one worker of a cluster.

It is a process of its own with its own XLA. It holds some clients, their rows and what they remember, and
answers a round with one weighted sum.
"""

from __future__ import annotations

import os
import pickle
from functools import lru_cache
from typing import Any

import jax

from ...aggregation.server_step import Server
from ...algorithms import Messages
from ...timing import Step
from ...typing import ClientIds, Float64s, Int64s, Memory, Message, PyTree
from ..base import Setting
from ..distributed import Visited
from ..memories import Memories
from ..shards import Shard
from .rows import ShardRows, unpack

Remembered = tuple[Int64s, PyTree]
"""Clients, by their numbers in the whole federation, and their memories along a leading axis."""
SHARED = ("enable_x64", "default_prng_impl", "threefry_partitionable")
"""Settings of JAX on which answers depend: workers have those of the process that sends them work."""


class Worker:
    """Holds a shard; Ray makes an actor of it."""

    def begin(self, setting: Setting, nouns: bytes, rows: ShardRows, template: Memory) -> None:
        """Take the rows; nobody remembers anything yet."""
        algorithm, task, aggregator = thawed(nouns)
        whole = setting._replace(task=task, algorithm=algorithm, aggregator=aggregator)
        self.shard = Shard(unpack(whole, rows), template)

    def ready(self) -> None:
        """Answer; everything that was asked before is done."""

    def leave(self) -> None:
        """Let go of the rows; another training may begin."""
        self.__dict__.pop("shard", None)

    def forget(self, template: Memory) -> None:
        """Begin again with the same rows."""
        self.shard.memories = Memories(template, len(self.shard.engine.setting.federation))

    def visit(self, step: Step, sent: Message, rows: Int64s | None, keep: bool) -> tuple[Visited, Remembered]:
        """Let clients work; also what they remember now, which outlives this process in Ray's store."""
        done = self.shard.visit(step, Messages(sent, rows), keep)
        return done, self.remembered(step.clients)

    def evaluate(
        self, sent: Message, rows: Int64s | None, split: str, round: int, clients: ClientIds
    ) -> dict[str, Float64s]:
        """Metrics of some clients."""
        return self.shard.evaluate(Messages(sent, rows), split, round, clients)

    def remembered(self, clients: ClientIds) -> Remembered:
        """What some clients remember."""
        return self.shard.remembered(clients)

    def everything(self) -> tuple[int, Remembered]:
        """How many clients remember something, and what all of them remember."""
        part = self.shard.engine.setting.part
        assert part is not None
        found = self.shard.remembered(part.numbers)
        return len(found[0]), found

    def remember(self, remembered: Remembered) -> None:
        """From now on these clients remember this."""
        self.shard.remember(*remembered)


@lru_cache(maxsize=16)
def thawed(nouns: bytes) -> Server:
    """A method, its task and its aggregator; the same ones for the same bytes, so that programs are compiled
    once for all trainings of a method, as on one machine."""
    return Server(*pickle.loads(nouns))


def surroundings(cores: int) -> dict[str, str]:
    """Environment variables that a worker must have before JAX starts in it.

    One XLA device per core and no threads beside: workers on the same machine do not get in each other's way.
    """
    inherited = [f for f in os.environ.get("XLA_FLAGS", "").split() if "device_count" not in f]
    numbers = {name: str(cores) for name in ("UNALIKE_CORES", "NPROC")}
    settings = {f"JAX_{name.upper()}": str(_of_jax(name)) for name in SHARED}
    flags = " ".join([*inherited, "--xla_cpu_multi_thread_eigen=false"])
    return {**numbers, **settings, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


def _of_jax(name: str) -> Any:
    return getattr(jax.config, f"jax_{name}")
