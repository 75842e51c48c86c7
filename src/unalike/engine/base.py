"""What must every engine be able to do?

An engine runs `client` for a step's cohort and lets the server aggregate, and it evaluates predictors.
Engines differ in where and how they compute, never in what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from ..algorithms import Algorithm, ClientData, Reply
from ..algorithms.base import check_reply
from ..core.pytrees import Tree
from ..core.random import purpose_code
from ..core.registry import Registry
from ..data.federation import Federation
from ..data.streams import Stream
from ..errors import ConfigError
from ..models import Task
from ..timing import Jobs, Step
from ..typing import ClientIds, Float64s, Int64s
from .memories import Memories

Report = Mapping[str, ArrayLike]
"""One number per client of a step; `accepted` is 0 for a rejected upload. May still be being computed."""


class Messages(NamedTuple):
    """What clients were sent: one message for all, or (`own`) one for each, along a leading axis."""

    message: Tree
    own: bool = False


class Outcome(NamedTuple):
    """What a step leaves behind."""

    state: Tree
    report: Report


class Engine(Protocol):
    """Runs an algorithm on a federation."""

    setting: Setting

    def run(self, step: Step, state: Tree, told: Messages, memories: Memories) -> Outcome:
        """One step; messages of their own are in the order of the step's clients."""

    def run_stale(
        self, steps: list[Step], state: Tree, told: Messages, memories: Memories
    ) -> tuple[Tree, Tree, list[Report]]:
        """Some steps in a row, none of which starts from another's result; messages of their own are in the
        order of all the steps' clients. Also returns what is broadcast after each step (leading axis)."""

    def rounds_at_once(self, cohort: Int64s, parameters: int) -> int:
        """How many synchronous rounds of such a cohort and model to hand over together, 1 if none."""

    def run_several(self, steps: list[Step], state: Tree, most: int) -> tuple[Tree, list[Report]]:
        """Some synchronous rounds in a row, at most `most`, where :meth:`rounds_at_once` allows it."""

    def evaluate(
        self,
        message: Tree,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """Mean loss and statistics of metrics of each client on its `split` rows, and `samples`, their
        number; NaN where there are none."""

    def place(self, state: Tree) -> Tree:
        """The server's state where the rounds will find it, so that the first is compiled as all others."""

    def memories(self, template: Tree, clients: int) -> Memories:
        """Where clients' memories will be, before the first round."""

    def events(self) -> list[dict[str, Any]]:
        """What happened since this was last asked that a person should know of."""

    def flight(self, messages: Callable[[int], Tree]) -> Jobs | None:
        """The jobs of real clients, who are sent `messages(version)` and whose results arrive when they
        arrive; None if time is simulated."""

    def close(self) -> None:
        """Let go of what the engine holds outside of this process."""


class OneProcess:
    """What is simple when all of it happens in this process."""

    def place(self, state: Tree) -> Tree:
        """It may lie where it is."""
        return state

    def memories(self, template: Tree, clients: int) -> Memories:
        """In this process."""
        return Memories(template, clients)

    def events(self) -> list[dict[str, Any]]:
        """Nothing beside what the rounds themselves say."""
        return []

    def flight(self, messages: Callable[[int], Tree]) -> Jobs | None:
        """Time is simulated."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""


class Part(NamedTuple):
    """What an engine knows of the whole when its federation is a part of a larger one."""

    numbers: Int64s
    """What the clients are in the whole: their draws depend on it."""
    importance: Float64s
    largest: int
    """Rows of the largest client of the whole."""


class Setting(NamedTuple):
    """What an engine is built for."""

    federation: Federation
    task: Task
    algorithm: Algorithm
    seed: int
    stream: Stream | None = None
    devices: int | None = None
    watch: tuple[str, ...] = ()
    """What is reported of every upload beside what the algorithm reports (names of :data:`WATCHED`)."""
    part: Part | None = None
    """Of what the federation is a part, if it is."""


engine_registry: Registry[Engine] = Registry("engine")


def root_key(seed: int, purpose: str) -> jax.Array:
    """The key from which all of a purpose's keys are folded."""
    return jax.random.fold_in(jax.random.key(seed & 0xFFFFFFFF), purpose_code(purpose))


def message_template(setting: Setting) -> Tree:
    """The shapes of what the server broadcasts."""
    task, algorithm = setting.task, setting.algorithm
    state = jax.eval_shape(lambda: algorithm.init(task, jax.random.key(0)))
    return jax.eval_shape(lambda s: algorithm.broadcast(task, s), state)


def reply_template(setting: Setting, message: Tree) -> Reply:
    """The shapes of what one client hands back; the memory's must be those of its first memory."""
    algorithm, task, train = setting.algorithm, setting.task, setting.federation.train
    x, y = (jax.ShapeDtypeStruct((1, *a.shape[1:]), a.dtype) for a in (train.x, train.y))
    number = jax.ShapeDtypeStruct((), jnp.int32)
    positions = jax.ShapeDtypeStruct((1, 1), jnp.int32)
    key = jax.eval_shape(lambda: jax.random.key(0))
    data = ClientData(x, y, None, None, number, number, number, positions, number, key, 1, number)  # type: ignore[arg-type]
    memory = jax.eval_shape(lambda m: algorithm.init_client(task, m, jax.random.key(0)), message)
    reply = jax.eval_shape(lambda m, c, d: algorithm.client(task, m, c, d, d.key), message, memory, data)
    check_reply(algorithm, reply)
    if shapes(reply.memory) != shapes(memory):
        raise ConfigError(
            f"{type(algorithm).__name__}.client returns a memory that differs in shape from init_client's."
        )
    return reply


def shapes(tree: Tree) -> Tree:
    """The shape and dtype of every leaf."""
    return jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), tree)
