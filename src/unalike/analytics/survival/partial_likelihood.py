"""Cox's partial likelihood, and the sums that clients send for it.

D. Cox, "Regression Models and Life-Tables", 1972. With the distinct event times t_m, the d_m events at each,
and R_m, all who are still followed at t_m, minus the log-likelihood is (N. Breslow, 1974)

    sum_m  d_m log S0_m  -  sum_{i: event} x_i'b,             S0_m = sum_{j in R_m} exp(x_j'b)

and with B. Efron's (1977) treatment of ties, log S0_m becomes the mean over l = 0..d_m - 1 of
log(S0_m - l/d_m E0_m), E0_m being the same sum over those who have the event at t_m.

    pooled       risk sets of all clients. They add up: each client sends its part of S0_m and of its first
                 two derivatives, and the server's Newton step is the one of all rows in one place
    stratified   every client its own risk sets and baseline hazard; the likelihoods themselves add up

For the pooled one, clients agree on the event times beforehand. Where a client has one person left at a time,
its sums are that person's row: so nodes of other organizations can be asked for the stratified one only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp

from ...data.survival import times_and_events
from ...models import Batch
from ...typing import Float64s, PyTree
from ..linear.newton import Derivatives, Objective
from ..serialization import shareable

Ties = Literal["breslow", "efron"]
_FLAT = 1e-12
"""A column whose variance over risk sets is below this part of its mean square says nothing."""


@dataclass(frozen=True)
class PartialLikelihood(Objective):
    """What both kinds share; `columns` are those of the rows that have a coefficient."""

    columns: tuple[int, ...]
    ties: Ties = "efron"

    separates: ClassVar[bool] = True

    def check(self, responses: Float64s) -> None:
        if any(responses.strides):  # of rows that are elsewhere, only the number is known
            times_and_events(responses)

    def _x(self, rows: Batch) -> jax.Array:
        return rows.x[:, jnp.array(self.columns, int)]


@shareable
@dataclass(frozen=True)
class StratifiedLikelihood(PartialLikelihood):
    """Every client's own partial likelihood."""

    def of_client(self, params: jax.Array, rows: Batch) -> jax.Array:
        order = jnp.argsort(jnp.where(rows.weight > 0, jnp.abs(rows.y), jnp.inf))  # padding last
        x, y, here = self._x(rows)[order], rows.y[order], rows.weight[order] > 0
        # The likelihood does not change with a shift of columns, and a constant one becomes exactly zero.
        score = jnp.where(here, (x - x[0]) @ params, 0.0)
        times, event = jnp.where(here, jnp.abs(y), jnp.inf), here & (y > 0)
        first = jnp.searchsorted(times, times, side="left")
        end = jnp.searchsorted(times, times, side="right")
        top = jax.lax.stop_gradient(jnp.max(jnp.where(here, score, -jnp.inf)))
        weight = jnp.where(here, jnp.exp(score - top), 0.0)
        at_risk = jnp.flip(jnp.cumsum(jnp.flip(weight)))[first]
        if self.ties == "efron":
            at_risk = at_risk - _tied_share(event, first, end) * _between(weight * event, first, end)
        logs = jnp.log(jnp.where(event, at_risk, 1.0))
        return jnp.sum(jnp.where(event, logs + top - score, 0.0))


def _tied_share(event: jax.Array, first: jax.Array, end: jax.Array) -> jax.Array:
    """l / d: how many of the events at the same time come before, by their number."""
    before = jnp.cumsum(event) - event
    rank = before - before[first]
    return rank / jnp.maximum(_between(event, first, end), 1)


def _between(values: jax.Array, first: jax.Array, end: jax.Array) -> jax.Array:
    """Sums of values from `first` to `end`."""
    sums = jnp.concatenate([jnp.zeros(1, values.dtype), jnp.cumsum(values)])
    return sums[end] - sums[first]


@dataclass(frozen=True)
class PooledLikelihood(PartialLikelihood):
    """The partial likelihood of all rows, from sums over risk sets."""

    times: tuple[float, ...] = ()
    """The distinct event times, in order."""
    most_ties: int = 1
    """The largest number of events at one time."""

    def of_client(self, params: jax.Array, rows: Batch) -> jax.Array:
        return -jnp.sum(jnp.where(rows.y > 0, rows.weight, 0.0) * (self._x(rows) @ params))

    def other_sums(self, params: jax.Array, rows: Batch) -> PyTree:
        x, times, event = self._x(rows), jnp.abs(rows.y), rows.y > 0
        weight = rows.weight * jnp.exp(x @ params)
        agreed = jnp.array(self.times)[:, None]
        now = ((times[None, :] == agreed) & event[None, :]).astype(weight.dtype)
        sums = {"risk": _moments((times[None, :] >= agreed) * weight, x), "events": now @ rows.weight}
        return {**sums, "tied": _moments(now * weight, x)} if self.ties == "efron" else sums

    def no_sums(self) -> PyTree:
        m, p = len(self.times), self.width
        moments = (jnp.zeros(m), jnp.zeros((m, p)), jnp.zeros((m, p, p)))
        sums = {"risk": moments, "events": jnp.zeros(m)}
        return {**sums, "tied": moments} if self.ties == "efron" else sums

    def of_server(self, params: jax.Array, sums: PyTree) -> Derivatives | None:
        """sum_m of the mean of logs, and its derivatives."""
        value, gradient = jnp.zeros(()), jnp.zeros(self.width)
        second = spread = jnp.zeros((self.width, self.width))
        events = sums["events"]
        for number in range(self.most_ties if self.ties == "efron" else 1):
            share, count = number / jnp.maximum(events, 1), jnp.where(events > number, 1.0, 0.0)
            if self.ties == "efron":
                total, first, squares = (
                    whole - jnp.reshape(share, (-1, *(1,) * (whole.ndim - 1))) * tied
                    for whole, tied in zip(sums["risk"], sums["tied"], strict=True)
                )
            else:
                (total, first, squares), count = sums["risk"], events
            total = jnp.where(count > 0, total, 1.0)
            mean = first / total[:, None]
            value = value + jnp.sum(count * jnp.log(total))
            gradient = gradient + count @ mean
            second = second + jnp.einsum("m,mij->ij", count / total, squares)
            spread = spread + jnp.einsum("m,mi,mj->ij", count, mean, mean)
        hessian = second - spread
        says = jnp.diag(hessian) > _FLAT * jnp.diag(second)
        return Derivatives(value, gradient, jnp.where(jnp.outer(says, says), hessian, 0.0))


def _moments(weights: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """For every row of weights: their sum, and those of x and x x'."""
    return weights.sum(axis=1), weights @ x, jnp.einsum("mn,ni,nj->mij", weights, x, x)
