"""Newton's method on sums of clients' derivatives.

Every client sends the value, gradient and Hessian of its part of an objective at the parameters it received;
the server adds them up and takes the step that would be taken on the pooled rows:

    b <- b - H^-1 g,        g = sum_k g_k + P b,     H = sum_k H_k + P          (P: a ridge penalty)

A quadratic objective is solved in one round, and judged in a second. A step that made the objective grow is
halved, which costs a round each; the method ends when a step would change the objective by less than a part
`tolerance` of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms.base import Aggregate, Algorithm, LocalWork, Reply
from ...algorithms.needs import Needs
from ...algorithms.shared.client_data import ClientData
from ...data import Federation
from ...models import Batch, Task
from ...typing import Float64s, Memory, Message, PyTree, State, Upload
from ..serialization import shareable

FLAT = 1e-11
"""Directions whose curvature, on columns scaled to one, is below this are not determined by the data."""


class Derivatives(NamedTuple):
    """An objective's value, gradient and Hessian at a point."""

    value: jax.Array
    gradient: jax.Array
    hessian: jax.Array


@dataclass(frozen=True)
class Objective:
    """What is minimized: a sum over clients, and perhaps something the server adds that needs other sums."""

    width: int
    """How many parameters there are."""

    def of_client(self, params: jax.Array, rows: Batch) -> jax.Array:
        """A client's part; padding has weight 0."""
        raise NotImplementedError

    def other_sums(self, params: jax.Array, rows: Batch) -> PyTree:
        """What else is to be added up over clients."""
        return {}

    def no_sums(self) -> PyTree:
        """Zeros in the shape of the other sums."""
        return {}

    def of_server(self, params: jax.Array, sums: PyTree) -> Derivatives | None:
        """What the server adds, from the other sums."""
        return None

    def check(self, responses: Float64s) -> None:
        """Raise where a client's responses cannot be explained like this."""

    def check_width(self, columns: int) -> None:
        """Raise where rows of so many columns do not fit."""

    separates: ClassVar[bool] = False
    """Whether there may be no minimum, because rows can be predicted with ever more certainty."""

    def first(self) -> Float64s:
        """Where to begin."""
        return np.zeros(self.width)


@shareable
@dataclass(frozen=True, kw_only=True)
class Newton(Algorithm):
    """Minimizes an objective."""

    objective: Objective
    ridge: tuple[float, ...] = ()
    """The diagonal of P; empty for none."""
    tolerance: float = 1e-12
    work: LocalWork = field(default_factory=lambda: LocalWork(steps=0))

    name: ClassVar[str] = "newton"
    needs: ClassVar[Needs] = Needs(float64=True)
    converges: ClassVar[bool] = True

    def prepare(self, task: Task, federation: Federation) -> Newton:
        self.objective.check_width(federation.train.x.shape[-1])
        self.objective.check(np.asarray(federation.train.y))
        return self

    def init(self, task: Task, key: jax.Array) -> State:
        begin, width = jnp.asarray(self.objective.first()), self.objective.width
        far = jnp.asarray(jnp.inf, begin.dtype)
        state = {"params": begin, "evaluated": begin, "value": far, "decrement": far}
        square, others = jnp.zeros((width, width)), self.objective.no_sums()
        derivatives = {"gradient": jnp.zeros(width), "hessian": square, "first_hessian": square}
        return State(
            {**state, **derivatives, "step": jnp.zeros(width), "rows": jnp.zeros(()), "others": others}
        )

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        rows, at = data.all_rows(), cast(jax.Array, message)
        value, gradient = jax.value_and_grad(self.objective.of_client)(at, rows)
        sums = {"derivatives": (value, gradient, jax.hessian(self.objective.of_client)(at, rows))}
        others = self.objective.other_sums(at, rows)
        return Reply(Upload({**sums, "others": others, "rows": rows.size.astype(at.dtype)}))

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        sums, at = mixed.plain_sum, state["params"]
        value, gradient, hessian = self._total(at, sums)
        step = -_solve(hessian, gradient)
        after = {
            "params": at + step,
            "evaluated": at,
            "value": value,
            "decrement": -0.5 * jnp.sum(step * gradient),
            "step": step,
            "gradient": gradient,
            "hessian": hessian,
            "first_hessian": jnp.where(jnp.isinf(state["value"]), hessian, state["first_hessian"]),
            "rows": sums["rows"],
            "others": sums["others"],
        }
        half = 0.5 * state["step"]
        shorter = {**state, "params": state["evaluated"] + half, "step": half}
        better = value <= state["value"] + 1e-9 * jnp.abs(value)
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), after, shorter)

    def finished(self, task: Task, state: State) -> bool:
        if not float(state["rows"]):  # nobody has answered
            return True
        value, short = float(state["value"]), float(np.abs(state["step"]).max(initial=0.0)) < 1e-13
        small = float(state["decrement"]) <= self.tolerance * max(abs(value), 1e-300)
        return bool(np.isfinite(value) and (small or short))

    def _total(self, at: jax.Array, sums: PyTree) -> Derivatives:
        total = Derivatives(*sums["derivatives"])
        more = self.objective.of_server(at, sums["others"])
        if more is not None:
            total = Derivatives(*(one + other for one, other in zip(total, more, strict=True)))
        if not self.ridge:
            return total
        p = jnp.asarray(self.ridge, at.dtype)
        return Derivatives(
            total.value + 0.5 * jnp.sum(p * at**2), total.gradient + p * at, total.hessian + jnp.diag(p)
        )


def _solve(hessian: jax.Array, gradient: jax.Array) -> jax.Array:
    """H^-1 g with negative curvature turned round, and nothing along directions that are not determined."""
    scale = jnp.sqrt(jnp.abs(jnp.diag(hessian)))
    scale = jnp.where(scale > 0, scale, 1.0)
    values, vectors = jnp.linalg.eigh(hessian / jnp.outer(scale, scale))
    safe = jnp.where(jnp.abs(values) > FLAT, jnp.abs(values), jnp.inf)
    return vectors @ ((vectors.T @ (gradient / scale)) / safe) / scale
