"""A training in memory as unlearning schemes need it: models, norms of uploads, and replayed updates.

    replay of A    theta_0 + sum_n mean over the clients of round n that are not in A of their updates

Liu, Ma, Yang, Wang and Liu, "FedEraser: Enabling Efficient Client-Level Data Removal from Federated Learning
Models" (2021), for updates that are stored and added up again. Who will be forgotten is known to a study, so
that one sum is kept for each A, and not all updates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import jax
import numpy as np
from numpy.typing import ArrayLike

from ..core.pytrees import add
from ..errors import UnalikeError
from ..timing import Step
from ..trust.unlearning.sensitivity import Ledger, Mode
from ..typing import Array, Float64s, State

Retain = Callable[[int, Ledger], set[int] | None]
"""Told of every round (its number, and the ledger of it alone): which models are kept; all where None."""


def retain_all(done: int, ledger: Ledger) -> set[int] | None:
    """Every model."""
    return None


def retain_rounds(*rounds: int) -> Retain:
    """The models after these rounds, and the newest.

    >>> retain_rounds(0, 3)(7, None)
    {0, 3, 7}
    """
    return lambda done, ledger: {*rounds, done}


class RetainRestarts:
    """The first and the newest model, and for every group of clients the last one from which training may
    start again: before a client's sensitivity first exceeded the limit.

    Args:
        groups: the clients of every request that will come.
        limit: the largest sensitivity that the noise hides.
        mode: whose weights sensitivities use.
    """

    def __init__(self, groups: Sequence[Sequence[int]], limit: float, mode: Mode) -> None:
        self._groups, self._limit, self._mode = [list(group) for group in groups], limit, mode
        self._held = np.zeros(0)
        self._restarts = [0] * len(groups)

    def __call__(self, done: int, ledger: Ledger) -> set[int]:
        moved = ledger.increments(self._mode)[0]
        if done == 1:  # of the next training
            self._held, self._restarts = np.zeros_like(moved), [0] * len(self._groups)
        self._held = self._held + moved
        for place, group in enumerate(self._groups):
            if self._restarts[place] == done - 1 and self._held[group].max() <= self._limit:
                self._restarts[place] = done
        return {0, done, *self._restarts}


@dataclass
class Branch:
    """A training in memory, as a keeper of :func:`unalike.train`: models, norms and replayed updates.

    Args:
        importance: what clients weigh in it.
        retain: which models are kept.
        replays: for sets of clients, what the updates of the others have added up to so far.
    """

    importance: Float64s
    retain: Retain = retain_all
    replays: dict[tuple[int, ...], Array | float] = field(default_factory=dict)
    states: dict[int, State] = field(default_factory=dict)
    deviations: list[Float64s] = field(default_factory=list)
    weights: list[Float64s] = field(default_factory=list)
    bytes_sent: float = 0.0

    def begin(self, done: int, state: State) -> None:
        """The first model."""
        self.states = {0: jax.tree.map(np.asarray, state)}

    def keep(self, step: Step, report: Mapping[str, ArrayLike], state: State) -> None:
        """A round."""
        deviations, weights = np.zeros((2, len(self.importance)))
        weights[step.clients] = step.weights / step.weights.sum()
        if "deviation" in report:
            deviations[step.clients] = np.asarray(report["deviation"])
        for gone in self.replays if "update" in report else ():
            mean = mean_update(step.clients, step.weights, np.asarray(report["update"]), gone)
            self.replays[gone] = self.replays[gone] + mean
        self.deviations.append(deviations)
        self.weights.append(weights)
        self.states[self.rounds] = jax.tree.map(np.asarray, state)
        kept = self.retain(self.rounds, Ledger(deviations[None], weights[None], self.importance))
        if kept is not None:
            self.states = {done: held for done, held in self.states.items() if done in kept}

    @property
    def rounds(self) -> int:
        """How many rounds it took."""
        return len(self.deviations)

    @property
    def last(self) -> State:
        """The last model."""
        return self.states[self.rounds]

    def sensitivity(self, mode: Mode) -> Float64s:
        """The bounded sensitivity of every client after 0, 1, ... rounds."""
        shape = (self.rounds, len(self.importance))
        table = np.reshape(self.deviations, shape), np.reshape(self.weights, shape)
        return Ledger(*table, self.importance).sensitivity(mode)

    def replayed(self, gone: Sequence[int]) -> Array | float:
        """What the updates of all but these clients add up to."""
        key = tuple(sorted(gone))
        if key not in self.replays:
            raise UnalikeError(f"the updates without {list(key)} were not added up; train with replays.")
        return self.replays[key]


def mean_update(clients: Array, weights: Float64s, updates: Array, gone: Sequence[int]) -> Array | float:
    """The weighted mean of a round's updates, without those of some clients; zero where nobody is left.

    Args:
        clients: who took part.
        weights: what each weighed.
        updates: one row for each.
        gone: whose updates do not count.

    >>> mean_update(np.array([0, 2]), np.array([0.5, 0.5]), np.array([[1.0, 1.0], [3.0, 5.0]]), [0]).tolist()
    [3.0, 5.0]
    """
    kept = ~np.isin(clients, gone)
    if not kept.any():
        return 0.0
    mean: Array = weights[kept] @ updates[kept] / weights[kept].sum()
    return mean


def move(state: State, change: Array) -> State:
    """A server's state, whose model is moved by a vector."""
    flat, structure = jax.tree.flatten(state["params"])
    ends = np.cumsum([leaf.size for leaf in flat])
    pieces = np.split(np.broadcast_to(change, (int(ends[-1]),)).astype(np.float32), ends[:-1])
    moved = [piece.reshape(leaf.shape) for piece, leaf in zip(pieces, flat, strict=True)]
    return State({**state, "params": add(state["params"], jax.tree.unflatten(structure, moved))})
