"""Unlearning schemes, compared by quality and cost.

    scratch       train again from the first model                              perfect, and dearest
    fine-tuning   train on without the clients                                  no guarantee
    last          noise for all that the clients did, on the last model         (epsilon, delta)
    fedaccum      add the stored updates of the others up again                 no guarantee
    fedaccum-reference   the same, but never loaded, as in the authors' first code: fine-tuning
    sifu          noise on the last model that holds little of the clients      (epsilon, delta)

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Everything stays in memory, and noise follows from the seed: for studies, not for promises; those are
made by :mod:`.forget`. Training with noise from the start (`dp`) is fine-tuning under another aggregator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..aggregation.base import Aggregator
from ..algorithms import FedAvg
from ..core.pytrees import add
from ..core.random import generator
from ..data import Federation
from ..engine import root_key
from ..errors import unknown
from ..models import Task
from ..participation import Full, Remaining, Renormalized
from ..timing import Step
from ..training.train import train
from ..trust.unlearning.calibration import Budget
from ..trust.unlearning.measured_uploads import MeasuredUploads
from ..trust.unlearning.noise import add_noise
from ..trust.unlearning.oracle import Node, extend_path, select_restart
from ..trust.unlearning.sensitivity import Ledger, Mode
from ..typing import Array, Float64s, Params, State

Scheme = Literal["scratch", "fine-tuning", "last", "fedaccum", "fedaccum-reference", "sifu"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True)
class UnlearningProblem:
    """What all schemes share: clients, model, local work, draws, and when training stops."""

    federation: Federation
    task: Task
    algorithm: FedAvg
    per_round: int | None
    stop_at: str
    rounds: int = 10_000
    """At most."""
    seed: int = 0

    def start(self) -> State:
        """The first model, as a server's state."""
        return self.algorithm.init(self.task, root_key(self.seed, "init"))


class Update(NamedTuple):
    """What the server received in a round."""

    clients: Array
    weights: Float64s
    changes: Array
    """One row per client."""


@dataclass
class Branch:
    """A training in memory: every model, norm and, where asked for, update."""

    importance: Float64s
    states: list[State] = field(default_factory=list)
    deviations: list[Float64s] = field(default_factory=list)
    weights: list[Float64s] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    bytes_sent: float = 0.0

    def begin(self, done: int, state: State) -> None:
        """The first model."""
        self.states = [jax.tree.map(np.asarray, state)]

    def keep(self, step: Step, report: Mapping[str, ArrayLike], state: State) -> None:
        """A round."""
        deviations, weights = np.zeros((2, len(self.importance)))
        weights[step.clients] = step.weights / step.weights.sum()
        if "deviation" in report:
            deviations[step.clients] = np.asarray(report["deviation"])
        if "update" in report:
            self.updates.append(Update(step.clients, step.weights, np.asarray(report["update"])))
        self.states.append(jax.tree.map(np.asarray, state))
        self.deviations.append(deviations)
        self.weights.append(weights)

    @property
    def rounds(self) -> int:
        """How many rounds it took."""
        return len(self.deviations)

    @property
    def last(self) -> State:
        """The last model."""
        return self.states[-1]

    def sensitivity(self, mode: Mode) -> Float64s:
        """The bounded sensitivity of every client after 0, 1, ... rounds."""
        shape = (self.rounds, len(self.importance))
        table = np.reshape(self.deviations, shape), np.reshape(self.weights, shape)
        return Ledger(*table, self.importance).sensitivity(mode)


class _Watching(Remaining):
    """Remaining clients, whose updates are shown, too."""

    watches = ("update",)


def train_branch(
    lesson: UnlearningProblem,
    start: State,
    gone: Sequence[int] = (),
    aggregator: Aggregator | None = None,
    updates: bool = False,
) -> Branch:
    """Train from a state until the lesson's rule says stop, on the clients that are not gone."""
    federation = lesson.federation.without_rows(gone) if len(gone) else lesson.federation
    sampler = Full() if lesson.per_round is None else Renormalized(per_round=lesson.per_round)
    branch = Branch(federation.importance)
    run = train(
        federation,
        lesson.task,
        lesson.algorithm,
        rounds=lesson.rounds,
        seed=lesson.seed,
        participation=(_Watching if updates else Remaining)(sampler, list(gone)),
        aggregator=aggregator or MeasuredUploads(),
        initial=start,
        stop_at=lesson.stop_at,
        keeper=branch,
    )
    metrics = run.metrics()
    branch.bytes_sent = float(np.nansum(metrics["bytes_up"]) + np.nansum(metrics["bytes_down"]))
    return branch


class Forgetting(NamedTuple):
    """What one request came to."""

    rounds: int
    bytes_sent: float
    residual: float
    """Accuracy on the rows of all clients that were forgotten so far."""
    utility: float
    """Accuracy on the rows of those that remain."""
    restart: Node | None
    first: float
    """Accuracy on the rows of the first request's clients."""
    noise: float
    """Deviation of the noise that was added."""


def forget_in_sequence(
    lesson: UnlearningProblem,
    scheme: Scheme,
    requests: Sequence[Sequence[int]],
    first: Branch,
    budget: Budget,
    mode: Mode = "realized",
    aggregator: Aggregator | None = None,
    path: bool = False,
) -> list[Forgetting]:
    """Forget groups of clients one after the other, by one scheme, after a first training."""
    if scheme not in SCHEMES:
        raise unknown("scheme", scheme, SCHEMES)
    branches, gone = {0: first}, list[int]()
    nodes: tuple[Node, ...] = ()
    found: list[Forgetting] = []
    for number, clients in enumerate(requests, 1):
        gone += clients
        draw = generator(lesson.seed, f"unlearning {scheme}", number).standard_normal
        restart, noise, newest = None, 0.0, branches[max(branches)]
        if scheme == "sifu":
            tables = {s: branch.sensitivity(mode)[:, list(clients)] for s, branch in branches.items()}
            restart = select_restart(tables, nodes, budget.largest_sensitivity, path)
            nodes = extend_path(nodes, restart)
            state, noise = branches[restart.branch].states[restart.round], budget.sigma
        elif scheme == "last":
            worst = float(newest.sensitivity(mode)[-1, list(clients)].max())
            state, noise = newest.last, budget.sigma_for(worst)
        elif scheme == "fedaccum":
            state = replay(first.states[0], [u for b in branches.values() for u in b.updates], gone)
        else:
            state = first.states[0] if scheme == "scratch" else newest.last
        start = {**state, "params": add_noise(state["params"], noise, draw)} if noise else state
        branch = train_branch(lesson, State(start), gone, aggregator, updates=scheme == "fedaccum")
        kept = {node.branch for node in nodes} if scheme == "sifu" else set(branches)
        branches = {**{s: b for s, b in branches.items() if s in kept}, number: branch}
        found.append(_judge(lesson, branch, requests[0], gone, restart, noise))
    return found


def replay(start: State, updates: Sequence[Update], gone: Sequence[int]) -> State:
    """The first model plus the weighted means of stored updates, without those of some clients."""
    flat, structure = jax.tree.flatten(start["params"])
    ends = np.cumsum([leaf.size for leaf in flat])
    total = np.zeros(ends[-1], np.float32)
    for clients, weights, changes in updates:
        kept = ~np.isin(clients, gone)
        if kept.any():
            total = total + weights[kept] @ changes[kept] / weights[kept].sum()
    pieces = np.split(total.astype(np.float32), ends[:-1])
    change = [piece.reshape(leaf.shape) for piece, leaf in zip(pieces, flat, strict=True)]
    return State({**start, "params": add(start["params"], jax.tree.unflatten(structure, change))})


def accuracy_on(lesson: UnlearningProblem, params: Params, clients: Sequence[int]) -> float:
    """Accuracy on the training rows of some clients."""
    part = lesson.federation.train.take(list(clients))
    outputs: Any = lesson.task.model.apply(params, jnp.asarray(part.x))
    return float((np.asarray(outputs).argmax(-1) == part.y).mean())


def _judge(
    lesson: UnlearningProblem,
    branch: Branch,
    first: Sequence[int],
    gone: Sequence[int],
    restart: Node | None,
    noise: float,
) -> Forgetting:
    params = branch.last["params"]
    rest = np.setdiff1d(np.arange(len(lesson.federation)), gone)
    residual, utility, earliest = (accuracy_on(lesson, params, c) for c in (gone, rest.tolist(), first))
    return Forgetting(branch.rounds, branch.bytes_sent, residual, utility, restart, earliest, noise)
