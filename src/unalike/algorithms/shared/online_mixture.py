"""Online mixtures as rounds: FEM-OMD for any component family.

At every time step t each client plays (w_t, pi_tc) before it sees its n rows; then a step is K + 1 rounds on
those rows, K exchanges of expectation and maximization and one hand-out of the new components (Marfoq's
doctoral thesis, 2023, section 4.4 and appendix H):

    round k < K    client:  r[i, j]  =  pt_cj P_j(z_i) / sum_l pt_cl P_l(z_i),       P_j of the inner wt_j
                            pt_cj    =  mean_i r[i, j];      sends  pt_cj  and  pt_cj wt_cj
                   server:  wt_j     =  sum_c p_c pt_cj wt_cj / sum_c p_c pt_cj      where its mass is enough
    after K        server:  w_{t+1,j}  =  (1 - a_j) w_{t,j} + a_j wt_j
    round K        client:  pi_{t+1,c} =  mirror step from pi_tc, with w_{t+1};      sends nothing

`a` is 1 (`last`), 1 / (steps of component j + 1) (`running-mean`) or a constant (`average:0.1`). A component
whose rows of all clients come to less than `min_mass` stays, and its own counter with it: else a component
that nobody has rows of jumps to foreign points. pi_tc never leaves the client; pt_c does. Training holds a
stream's rows for K + 1 rounds (`rounds_per_step`, `data.streams.HeldSteps`).

Clients are weighted by their importances p_c in the round, by default their rows; in the printed algorithm 14
(line 10) all clients count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ...core.pytrees import nbytes, where, zeros_like
from ...core.spec import Spec
from ...errors import ConfigError, unknown
from ...models import Task
from ...typing import Memory, Message, Params, Predictor, PyTree, State, Upload
from ..base import Aggregate, Algorithm, Reply
from ..needs import Needs
from .client_data import ClientData
from .mirror_descent import mirror_rate, mirror_step, mixture_gradient
from .mixture import (
    Components,
    component_losses,
    mean_posterior,
    negative_log_likelihood,
    posterior,
    unlike_starts,
    weighted_mean,
)

LEARNS = ("both", "weights", "components")
INNER_STARTS = ("uniform", "played")
OUTER = ("last", "running-mean", "average")


class Rows(NamedTuple):
    """The rows that one exchange is about."""

    data: ClientData
    weights: jax.Array
    """Of every row up to the capacity; zero for those of other batches."""


@dataclass(frozen=True, kw_only=True)
class OnlineMixture(Algorithm):
    """Components that everyone learns together, and mixture weights that each client plays by mirror
    descent."""

    components: int = 3
    em_steps: int = 1
    """Exchanges K of each time step, which then has K + 1 rounds."""
    weight_rate: float | None = None
    """A constant rate of mirror descent; None for sqrt(log m) / (m sqrt t)."""
    horizon: int = 0
    """The number of time steps where it is known, to be used in that rate instead of t; 0 if it is not."""
    floor: float = 1e-3
    """The smallest mixture weight."""
    inner_start: str = "uniform"
    """Where each step's estimate of the weights starts: uniform, or the weights that were played."""
    outer: str = "last"
    """What is played next: last, running-mean or average:0.1."""
    min_mass: float = 0.5
    """Rows that a component needs to be moved; 0 is as published."""
    learns: str = "both"
    """both, weights (components stay: the oracle's way) or components (weights stay equal)."""

    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(rounds=True)

    def __post_init__(self) -> None:
        if min(self.components, self.em_steps) < 1:
            raise ConfigError("components and em_steps must be at least 1.")
        if not 0 <= self.floor * self.components < 1:
            raise ConfigError(f"floor must be at least 0 and below 1 / components, but is {self.floor}.")
        if min(self.horizon, self.min_mass) < 0:
            raise ConfigError("horizon and min_mass must not be negative.")
        if self.weight_rate is not None and self.weight_rate < 0:
            raise ConfigError(f"weight_rate must not be negative, but is {self.weight_rate}.")
        if self.learns not in LEARNS:
            raise unknown("way to learn", self.learns, LEARNS)
        if self.inner_start not in INNER_STARTS:
            raise unknown("inner start", self.inner_start, INNER_STARTS)
        outer_share(self.outer, jnp.ones(1))

    @property
    def rounds_per_step(self) -> int:
        """K exchanges and one hand-out."""
        return self.em_steps + 1

    # What a family of components says ---------------------------------------------------------------------

    def losses(self, task: Task, components: Components, data: ClientData) -> jax.Array:
        """-log P_j of every row, as (capacity, components)."""
        return data.per_row(partial(component_losses, task, components))

    def batch(self, phase: jax.Array, data: ClientData) -> Rows:
        """The rows of one exchange: all of them, unless a family splits them."""
        return Rows(data, data.row_weights())

    def estimates(self, task: Task, inner: Components, chances: jax.Array, rows: Rows) -> list[PyTree]:
        """The M-step of one client: pt_cj wt_cj of every component."""
        raise NotImplementedError(f"{type(self).__name__} must implement estimates().")

    def gradient_losses(
        self, task: Task, components: Components, memory: Memory, data: ClientData, key: jax.Array
    ) -> jax.Array:
        """-log P_j of the rows that the gradient of the weights is taken on."""
        return self.losses(task, components, data)

    # The method -------------------------------------------------------------------------------------------

    def init(self, task: Task, key: jax.Array) -> State:
        return self.start(unlike_starts(task, self.components, key))

    def start(self, components: Sequence[Params]) -> State:
        """The server's state for components that are given."""
        parts = list(components)
        return State(
            {
                "params": parts,
                "inner": parts,
                "counts": jnp.ones(self.components),
                "updated": jnp.zeros(self.components, bool),
                "phase": jnp.asarray(0, jnp.int32),
                "step": jnp.asarray(1, jnp.int32),
            }
        )

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        equal = jnp.full(self.components, 1.0 / self.components)
        return Memory({"weights": equal, "inner": equal})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message(
            {
                "played": state["params"],
                "inner": state["inner"],
                "phase": state["phase"],
                "step": state["step"],
            }
        )

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        sent = nbytes(upload["estimates"]) + nbytes(upload["share"])
        return nbytes(message["played"]), sent * self.em_steps // self.rounds_per_step

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        exchange = partial(self._exchange, task, message, memory, data)
        shapes = jax.eval_shape(exchange)
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes[0])

        def hand_out() -> tuple[Upload, Memory]:
            return nothing, self._mirrored(task, message, memory, data, key)

        upload, after = lax.cond(message["phase"] < self.em_steps, exchange, hand_out)
        played = negative_log_likelihood(self.losses(task, message["played"], data), memory["weights"])
        shares = {f"component_{j + 1}": memory["weights"][j] for j in range(self.components)}
        return Reply(upload, after, {"train_loss": weighted_mean(played, data.row_weights()), **shares})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        weight = jnp.where(mixed.weight > 0, mixed.weight, 1.0)
        share, mass = mixed.total["share"], mixed.accepted * mixed.total["mass"] / weight
        exchanging = state["phase"] < self.em_steps
        moves = exchanging & (share > 0) & (mass >= self.min_mass) & (self.learns != "weights")
        found = [
            jax.tree.map(lambda leaf, s=share[j]: leaf / jnp.where(s > 0, s, 1.0), one)
            for j, one in enumerate(mixed.total["estimates"])
        ]
        inner = _each_where(moves, found, state["inner"])
        return self._turned(state, inner, state["updated"] | moves)

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return {"components": message["played"], "weights": memory["weights"]}

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        outputs = jnp.stack([task.apply(params, x) for params in predictor["components"]])
        return task.mixture(outputs, predictor["weights"])

    # Its parts --------------------------------------------------------------------------------------------

    def _exchange(
        self, task: Task, message: Message, memory: Memory, data: ClientData
    ) -> tuple[Upload, Memory]:
        """One E-step and one client's part of the M-step."""
        phase, inner = message["phase"], message["inner"]
        equal = jnp.full(self.components, 1.0 / self.components)
        first = memory["weights"] if self.inner_start == "played" else equal
        before = jnp.where(phase == 0, first, memory["inner"])
        rows = self.batch(phase, data)
        chances = posterior(self.losses(task, inner, data), before)
        there = jnp.sum(rows.weights) > 0
        weights = jnp.where(there, mean_posterior(chances, rows.weights), before)
        share = jnp.where(there, weights, 0.0)
        parts = self.estimates(task, inner, chances * rows.weights[:, None], rows)
        estimates = where(there, parts, zeros_like(parts))
        upload = Upload({"share": share, "mass": rows.weights @ chances, "estimates": estimates})
        return upload, Memory({"weights": memory["weights"], "inner": weights})

    def _mirrored(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Memory:
        """The weights that are played next."""
        rows = data.row_weights()
        losses = self.gradient_losses(task, message["played"], memory, data, key)
        gradient = mixture_gradient(losses, memory["weights"], rows)
        rate = mirror_rate(self.components, message["step"], self.horizon, self.weight_rate)
        moved = mirror_step(memory["weights"], gradient, rate, self.floor)
        moves = (jnp.sum(rows) > 0) & (self.learns != "components")
        return Memory({"weights": jnp.where(moves, moved, memory["weights"]), "inner": memory["inner"]})

    def _turned(self, state: State, inner: list[PyTree], updated: jax.Array) -> State:
        """The state one round later."""
        phase = state["phase"]
        done, over = phase == self.em_steps - 1, phase == self.em_steps
        share = outer_share(self.outer, state["counts"])
        mixed = [
            jax.tree.map(lambda old, new, a=share[j]: (1 - a) * old + a * new, *pair)
            for j, pair in enumerate(zip(state["params"], inner, strict=True))
        ]
        params = _each_where(done & updated, mixed, state["params"])
        return State(
            {
                "params": params,
                "inner": where(done, params, inner),
                "counts": state["counts"] + (done & updated),
                "updated": updated & ~done,
                "phase": jnp.where(over, 0, phase + 1).astype(phase.dtype),
                "step": state["step"] + over,
            }
        )


def outer_share(outer: str, counts: jax.Array) -> jax.Array:
    """How much of the step's estimate goes into each component that is played next.

    >>> outer_share("running-mean", jnp.array([1.0, 3.0])).tolist()
    [0.5, 0.25]
    """
    spec = Spec.of(outer)
    if spec.name not in OUTER:
        raise unknown("average over time", spec.name, OUTER)
    if spec.name == "running-mean":
        return 1.0 / (counts + 1.0)
    share = float(spec.arguments[0]) if spec.arguments else 1.0 if spec.name == "last" else 0.1
    if not 0 < share <= 1:
        raise ConfigError(f"{outer!r} must take a part above 0 and at most 1 of each step's estimate.")
    return jnp.full_like(counts, share)


def _each_where(chosen: jax.Array, new: Components, old: Components) -> list[PyTree]:
    """Component j of `new` where `chosen[j]`, else that of `old`."""
    return [where(chosen[j], a, b) for j, (a, b) in enumerate(zip(new, old, strict=True))]
