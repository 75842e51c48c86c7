"""Objectives of least squares and logistic regression.

least squares   sum (y - x'b)^2 / 2
logistic        sum log(1 + exp(x'b)) - y x'b
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import DataError
from ...models import Batch
from ...typing import Float64s, PyTree
from ..serialization import shareable
from .newton import Objective


@dataclass(frozen=True)
class ResponseSums(Objective):
    """An objective for which sums of the responses are wanted, too."""

    def check_width(self, columns: int) -> None:
        if columns != self.width:
            raise DataError(f"the model has {self.width} coefficients, but rows have {columns} columns.")

    def other_sums(self, params: jax.Array, rows: Batch) -> PyTree:
        return {"y": jnp.sum(rows.weight * rows.y), "yy": jnp.sum(rows.weight * rows.y**2)}

    def no_sums(self) -> PyTree:
        return {"y": jnp.zeros(()), "yy": jnp.zeros(())}


@shareable
@dataclass(frozen=True)
class LeastSquares(ResponseSums):
    """Half the sum of squares."""

    def of_client(self, params: jax.Array, rows: Batch) -> jax.Array:
        return 0.5 * jnp.sum(rows.weight * (rows.y - rows.x @ params) ** 2)


@shareable
@dataclass(frozen=True)
class LogLoss(ResponseSums):
    """Minus the log-likelihood of yes (1) and no (0)."""

    separates: ClassVar[bool] = True

    def check(self, responses: Float64s) -> None:
        if not np.isin(responses, (0.0, 1.0)).all():
            raise DataError("the response of a logistic regression must be 0 or 1.")

    def of_client(self, params: jax.Array, rows: Batch) -> jax.Array:
        score = rows.x @ params
        return jnp.sum(rows.weight * (jax.nn.softplus(score) - rows.y * score))
