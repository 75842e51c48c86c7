"""The tally, a weighted sum of uploads: add an upload, merge, give the server its aggregate.

    total = sum_i weight_i upload_i        start = sum_i weight_i message_i        over the accepted uploads

Uploads that are not accepted bring nothing, and the rest is scaled up to the weight that was asked for. A
tally is plain arithmetic on arrays: the same lines run inside compiled programs and on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..algorithms import Aggregate
from ..core import pytrees
from ..typing import Array, Leaf, Message, PyTree, Scalar, Upload


class Tally(NamedTuple):
    """Sums over the uploads that were added so far; {} for sums that nobody asks for.

    >>> one = empty_tally({"w": jnp.zeros(2)}).add({"w": jnp.ones(2)}, {}, 0.25, 0.5, 1.0)
    >>> two = one.add({"w": jnp.zeros(2)}, {}, 0.75, 0.5, 0.0)          # the second one was rejected
    >>> two.aggregate({"w": jnp.zeros(2)}).total["w"].tolist()
    [1.0, 1.0]
    """

    total: PyTree
    start: PyTree
    """The same sum of the messages that clients started from, where these differ."""
    importance_sum: PyTree
    """sum_i importance_i upload_i, for algorithms that ask for it."""
    requested_weight: Leaf = 0.0
    accepted_weight: Leaf = 0.0
    accepted: Leaf = 0.0
    """How many uploads were accepted."""
    share: Leaf = 0.0
    """The sum of their importances."""

    @classmethod
    def of_sum(cls, total: PyTree, weights: Array, importance: Array, accepted: Array) -> Tally:
        """A sum that was computed elsewhere, over the accepted ones of clients with these weights."""
        given, share = weights * accepted, importance * accepted
        number = jnp.result_type(float)
        return cls(total, {}, {}, *(values.sum(dtype=number) for values in (weights, given, accepted, share)))

    def add(
        self, upload: Upload, start: Message | None, weight: Scalar, importance: Scalar, accepted: Scalar
    ) -> Tally:
        """With one more upload; of one that is not `accepted` (0 instead of 1), all entries must be zero."""
        given, share = accepted * weight, accepted * importance
        return Tally(
            _add_scaled(self.total, given, upload),
            _add_scaled(self.start, given, start),
            _add_scaled(self.importance_sum, share, upload),
            self.requested_weight + weight,
            self.accepted_weight + given,
            self.accepted + accepted,
            self.share + share,
        )

    def merge(self, other: Tally) -> Tally:
        """The sums of two groups of uploads."""
        merged: Tally = jax.tree.map(lambda a, b: (a + b).astype(a.dtype), self, other)
        return merged

    def aggregate(self, message: Message | None = None, round: int | jax.Array = 0) -> Aggregate:
        """What the server receives; `message` is the one that all clients started from, where it was one."""
        ratio = reweight(self.requested_weight, self.accepted_weight)
        same = not jax.tree.leaves(self.start)
        start = pytrees.scale(self.accepted_weight, message) if same else self.start
        return Aggregate(
            pytrees.scale(ratio, self.total),
            pytrees.scale(ratio, start),
            self.requested_weight,
            self.accepted,
            self.share,
            round,
            self.importance_sum,
        )


def empty_tally(
    upload: Upload,
    start: Message | None = None,
    importance_sum: bool = False,
    zeros: Callable[..., Leaf] = jnp.zeros,
) -> Tally:
    """No uploads yet. `upload` and, where clients start from different messages, `start` give the shapes;
    `zeros` makes arrays: JAX's, or NumPy's for sums on the host."""
    number = zeros((), jnp.result_type(float))  # 64 bits where rounds compute with 64 bits
    return Tally(
        _sum_of(upload, zeros),
        _sum_of({} if start is None else start, zeros),
        _sum_of(upload if importance_sum else {}, zeros),
        number,
        number,
        number,
        number,
    )


def mix_by_matrix(matrix: jax.Array, uploads: Upload, accepted: jax.Array) -> Upload:
    """One weighted sum of uploads per row of the matrix (receivers x clients), over the accepted ones,
    keeping each row's sum."""
    kept = matrix * accepted
    kept = kept * reweight(matrix.sum(1), kept.sum(1))[:, None]
    return jax.tree.map(lambda leaf: jnp.tensordot(kept, leaf, axes=1), uploads)


def reweight(requested: Scalar, accepted: Scalar) -> jax.Array:
    """What brings the accepted weight back to the weight that was asked for."""
    return jnp.where(accepted != 0, requested / jnp.where(accepted != 0, accepted, 1.0), 0.0)


def _add_scaled(total: PyTree, factor: Scalar, tree: PyTree) -> PyTree:
    if not jax.tree.leaves(total):
        return total
    return jax.tree.map(lambda a, b: (a + factor * b).astype(a.dtype), total, tree)


def _sum_of(shapes: PyTree, zeros: Callable[..., Leaf]) -> PyTree:
    """Zeros for a weighted sum of trees of these shapes: whole numbers, weighted, are fractions."""
    return jax.tree.map(lambda s: zeros(s.shape, jnp.promote_types(s.dtype, jnp.float32)), shapes)
