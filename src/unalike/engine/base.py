"""The engine interface: run a block of steps; evaluate predictors.

An engine runs `client` for the cohorts of some steps and lets the server aggregate. Engines differ in where
and how they compute, never in what: step by step is always right, and an engine that can do several steps at
once overrides how these are taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike

from ..aggregation.base import Aggregator, WeightedSum
from ..aggregation.server_step import Server
from ..algorithms import Algorithm, Messages, Reply
from ..core import pytrees
from ..core.pytrees import size
from ..core.random import purpose_code
from ..core.registry import Registry
from ..data.federation import Federation, Split
from ..data.streams import Stream
from ..errors import ConfigError
from ..models import Task
from ..participation import Participation
from ..timing import Jobs, Step
from ..typing import ClientIds, Event, Float64s, Memory, Message, State
from .blocks import Block, BlockLimits
from .memories import Memories

Report = Mapping[str, ArrayLike]
"""One number per client of a step; `accepted` is 0 for a rejected upload. May still be being computed."""
MOST_CLIENTS, MOST_BYTES = 256, 32 << 20
"""Clients whose results are computed together before the server takes its steps on them, and the bytes that
their uploads may take."""


class Outcome(NamedTuple):
    """What a block leaves behind."""

    state: State
    reports: list[Report]
    """One for each step."""
    broadcasts: Message | None = None
    """What is broadcast after each step (leading axis); None where only the last state is known."""


class Part(NamedTuple):
    """What an engine knows of the whole when its federation is a part of a larger one."""

    numbers: ClientIds
    """What the clients are in the whole: their draws depend on it."""
    importance: Float64s
    largest: int
    """Rows of the client of the whole that works on most."""
    steady: bool = False
    """Whether the number of rows changes from round to round: plans are then as long as the longest."""


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
    aggregator: Aggregator = WeightedSum()
    """What the server makes of single uploads before they are mixed."""

    def importance(self, round: int) -> Float64s:
        """How much each client counts in a round: as the stream says, if it does; zeros where nobody has
        anything to learn from."""
        streamed = None if self.stream is None else self.stream.importance(round)
        if streamed is not None:
            return streamed
        return self.federation.importance if self.part is None else self.part.importance

    def weigh_round(self, state: State, round: int) -> State:
        """The state before a round, for methods whose average of models counts rounds by their rows."""
        if self.stream is None or not self.algorithm.needs.round_weights:
            return state
        weight = self.stream.round_weight(round)
        return state if weight is None else self.algorithm.weigh_round(state, weight)

    def most_rows(self) -> int:
        """The most training rows that any client of the whole federation works on in a round."""
        if self.part is not None:
            return self.part.largest
        held = None if self.stream is None else self.stream.most_held()
        return int(self.federation.train.sizes.max()) if held is None else held

    def split(self, name: str, done: int) -> Split:
        """The rows of a split after so many rounds: test and validation rows follow a stream that drifts."""
        part: Split = getattr(self.federation, name)
        return part if self.stream is None or name == "train" else self.stream.holdout(part, done)

    @property
    def server(self) -> Server:
        """Who steps on what clients send."""
        return Server(self.algorithm, self.task, self.aggregator)


class Engine(ABC):
    """Runs an algorithm on a federation; what is simple when all of it happens in this process."""

    setting: Setting

    def run(self, block: Block, state: State, messages: Messages, memories: Memories) -> Outcome:
        """Take the steps of a block; `messages` are those of all its clients, in their order."""
        if not block.clients:
            return Outcome(state, [{} for _ in block.steps])
        if block.rounds > 1:
            return self.run_rounds(block, state, memories)
        if self.takes_together(block, messages):
            return self.run_stale(block.steps, state, messages, memories)
        return self.run_each(block.steps, state, messages, memories)

    @abstractmethod
    def run_step(self, step: Step, state: State, messages: Messages, memories: Memories) -> Outcome:
        """One step: clients work, then the server takes its step."""

    def run_each(self, steps: list[Step], state: State, messages: Messages, memories: Memories) -> Outcome:
        """One step after the other."""
        broadcasts, reports, done = [], [], 0
        for step in steps:
            some = messages.select(np.arange(done, done + len(step.clients)))
            state, (report,), _ = self.run_step(step, state, some, memories)
            reports.append(report)
            done += len(step.clients)
            if len(steps) > 1:
                broadcasts.append(self.setting.algorithm.broadcast(self.setting.task, state))
        return Outcome(state, reports, pytrees.stack(broadcasts) if broadcasts else None)

    def run_stale(self, steps: list[Step], state: State, messages: Messages, memories: Memories) -> Outcome:
        """Steps none of which starts from another's result."""
        return self.run_each(steps, state, messages, memories)

    def run_rounds(self, block: Block, state: State, memories: Memories) -> Outcome:
        """Synchronous rounds, each of which starts from the result of the one before."""
        reports: list[Report] = []
        for step in block.steps:
            messages = self.setting.algorithm.messages(self.setting.task, state)
            state, (report,), _ = self.run_step(step, state, messages.select(step.clients), memories)
            reports.append(report)
        return Outcome(state, reports)

    def takes_together(self, block: Block, messages: Messages) -> bool:
        """Whether the clients of these steps are one cohort; it depends on the steps, not on the block."""
        step, setting = block.steps[0], self.setting
        if step.fresh or step.weights.ndim > 1 or setting.algorithm.needs.uploads:
            return False
        large = 4 * len(step.clients) * size(messages.of(0)) > 8 * MOST_BYTES  # then only a sum is kept
        return not large and not setting.aggregator.stepwise

    def limits(self, cohort: ClientIds, message: Message) -> BlockLimits:
        """How much goes to this engine at a time, where cohorts and messages are like these."""
        setting = self.setting
        stepwise = setting.algorithm.needs.uploads or setting.aggregator.stepwise
        if stepwise or setting.stream is not None:
            return BlockLimits()
        return BlockLimits(1, max(1, min(MOST_CLIENTS, MOST_BYTES // (4 * max(size(message), 1)))))

    @property
    def trusts_metrics(self) -> bool:
        """Whether metrics of clients are computed here; what others report decides nothing by itself."""
        return True

    def check_trained(self) -> None:  # noqa: B027 - most engines cannot be refused by their clients
        """Raise where rounds have passed and nobody has trained; before a model is written."""

    def check(self, who: Participation, message: Message, reply: Reply) -> None:
        """Raise a `ConfigError` where such a participation, messages and replies are of no use here."""
        algorithm, aggregator = self.setting.algorithm, self.setting.aggregator
        if not algorithm.has_server and aggregator != WeightedSum():
            raise ConfigError(
                f"the aggregation rule {type(aggregator).__name__} needs a server, but this method is "
                "decentralized."
            )
        if "batch_loss" in who.asks and not self.judges_rows:
            raise ConfigError(
                "this engine cannot ask these clients for the loss of a batch; ask for that of all rows, as "
                "ca-fed does."
            )
        aggregator.check(algorithm, who, message, reply)
        aggregator.check_cohort(who.cohort_size(len(self.setting.federation)))

    @abstractmethod
    def evaluate(
        self,
        messages: Messages,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """Mean loss and metrics of each client on its `split` rows, and `samples`, their number; NaN where
        there are none. `messages` are those of all clients."""

    @property
    def judges_rows(self) -> bool:
        """Whether :meth:`evaluate_rows` has an answer."""
        return False

    def evaluate_rows(
        self, messages: Messages, memories: Memories, part: Split, round: int, clients: ClientIds
    ) -> dict[str, Float64s] | None:
        """The same on rows that are no split of the federation, such as those that arrive; None where an
        engine cannot."""
        return None

    def place(self, state: State) -> State:
        """The server's state where the rounds will find it, so that the first is compiled as all others."""
        return state

    def memories(self, template: Memory, clients: int) -> Memories:
        """Where clients' memories will be, before the first round."""
        return Memories(template, clients)

    def events(self) -> list[Event]:
        """What happened since this was last asked that a person should know of, beside what rounds say."""
        return []

    def jobs(self, messages: Callable[[int], Message]) -> Jobs | None:
        """The jobs of real clients, who are sent `messages(version)` and whose results arrive when they
        arrive; None if time is simulated."""
        return None

    def close(self) -> None:  # noqa: B027 - most engines hold nothing
        """Let go of what the engine holds outside of this process."""


engine_registry: Registry[Engine] = Registry("engine", "engines")


def root_key(seed: int, purpose: str) -> jax.Array:
    """The key from which all of a purpose's keys are folded."""
    return jax.random.fold_in(jax.random.key(seed & 0xFFFFFFFF), purpose_code(purpose))
