"""Cox's partial likelihood of mini-batches, for survival models trained by gradient descent.

D. Cox, "Regression Models and Life-Tables", 1972; ties as in N. Breslow, 1974. Of a batch with scores s:

    loss = 1/n sum_{i: event}  log sum_{j: t_j >= t_i} exp(s_j)  -  s_i

Targets are signed times (:mod:`unalike.data.survival`). Risk sets are those of the batch, so that what a
client's batches minimize is its own (stratified) likelihood, nearly: the larger the batches, the nearer. The
exact estimate is :class:`unalike.analytics.CoxModel`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from .model import Model
from .task import Batch, Task


def partial_likelihood_terms(scores: jax.Array, signed: jax.Array, weight: jax.Array) -> jax.Array:
    """Minus the log partial likelihood of every row's event, among the rows with a positive weight.

    >>> terms = partial_likelihood_terms(jnp.zeros(3), jnp.array([1.0, -2.0, 3.0]), jnp.ones(3))
    >>> [round(float(term), 3) for term in terms]           # log 3, censored, log 1
    [1.099, 0.0, 0.0]
    """
    score, times = scores.reshape(len(signed)), jnp.abs(signed)
    at_risk = (times[None, :] >= times[:, None]) & (weight > 0)[None, :]
    total = jax.nn.logsumexp(jnp.where(at_risk, score[None, :], -1e30), axis=1)
    return jnp.where((signed > 0) & (weight > 0), total - score, 0.0)


def cox_loss(outputs: jax.Array, signed: jax.Array) -> jax.Array:
    """One number per row, with all rows of the block at risk; evaluation sees blocks, so that a recorded
    loss depends on them and only the concordance index is to be compared."""
    return partial_likelihood_terms(outputs, signed, jnp.ones(len(signed)))


@dataclass(frozen=True)
class CoxTask(Task):
    """A task whose loss compares the rows of a batch with each other, and leaves padding out of risk sets."""

    __hash__ = Task.__hash__

    def batch_loss(self, outputs: jax.Array, batch: Batch) -> jax.Array:
        """The mean over the rows of a batch."""
        terms = partial_likelihood_terms(outputs, batch.y, batch.weight)
        return jnp.sum(batch.weight * terms) / jnp.maximum(batch.size, 1.0)


def cox_task(model: Model, l2: float = 0.0) -> CoxTask:
    """The task of ranking people by risk; the model's one output is the log of the hazard ratio."""
    return CoxTask(model, cox_loss, l2=l2, outputs="values")
