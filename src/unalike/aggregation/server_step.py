"""The server's step: aggregator, weighted sum, the method's `aggregate`.

One function for every engine: on one machine it is the end of the compiled round, elsewhere a small program
of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..algorithms import Aggregate, Algorithm
from ..algorithms.base import as_promised
from ..core import pytrees
from ..models import Task
from ..typing import Leaf, Message, Report, State
from .base import Aggregator, Uploads, WeightedSum
from .tally import Tally, empty_tally, mix_by_matrix

"""One number per client of a step."""
COMBINING = 1
"""Sets the randomness of combining apart from that of finishing."""


class Server(NamedTuple):
    """Who steps: a method, on its task, with what it makes of single uploads."""

    algorithm: Algorithm
    task: Task
    aggregator: Aggregator = WeightedSum()

    def keeps_uploads(self, matrix: bool) -> bool:
        """Whether single uploads are needed; `matrix` tells whether receivers mix them themselves."""
        aggregator = self.aggregator
        return matrix or self.algorithm.needs.uploads or aggregator.needs.combine or aggregator.needs.measure

    def sums_uploads(self, matrix: bool) -> bool:
        """Whether their weighted sum is needed."""
        return not matrix and not self.aggregator.needs.combine


class ClientReplies(NamedTuple):
    """What a step's clients sent."""

    tally: Tally
    uploads: Uploads | None = None
    """Each of them, where single uploads are needed."""
    matrix: Leaf = None
    """None, or the mixing matrix (receivers x clients)."""
    heaviest: Leaf = 0.0
    """The largest weight of a single upload."""


def server_step(
    server: Server,
    state: State,
    sent: ClientReplies,
    message: Message | None,
    round: int | jax.Array,
    key: Leaf = None,
) -> tuple[State, Report]:
    """The server's state after a step, and what the aggregator says of single clients; `message` is the one
    that all clients started from, if it was one.

    Where nothing was accepted, nothing moves: not even momentum.
    """
    algorithm, task, aggregator = server
    if aggregator.needs.key and sent.uploads is not None:
        drawn = jax.random.fold_in(jax.random.fold_in(key, round), COMBINING)
        sent = sent._replace(uploads=sent.uploads._replace(key=drawn))
    if aggregator.needs.finish:
        tally = aggregator.finish(sent.tally, sent.heaviest, jax.random.fold_in(key, round))
        sent = sent._replace(tally=tally)
    aggregate, report = receive_all(server, sent, message, round)
    after = algorithm.aggregate(task, state, as_promised(algorithm, aggregate))
    return pytrees.where(aggregate.accepted > 0, after, state), report


def receive_all(
    server: Server, sent: ClientReplies, message: Message | None, round: int | jax.Array
) -> tuple[Aggregate, Report]:
    """What the server receives of a step's clients."""
    tally, uploads = sent.tally, sent.uploads
    if uploads is None:
        return tally.aggregate(message, round), {}
    if sent.matrix is not None:
        matrix = sent.matrix * uploads.weight
        total = mix_by_matrix(matrix, uploads.upload, uploads.accepted)
        weight = matrix @ uploads.accepted
        return Aggregate(total, None, weight, tally.accepted, tally.share, round, tally.importance_sum), {}
    if server.aggregator.needs.combine:
        aggregate, report = combine(server, uploads, round)
    else:
        aggregate, report = tally.aggregate(message, round), {}
    if server.aggregator.needs.measure:
        mean = pytrees.scale(1 / jnp.where(aggregate.weight != 0, aggregate.weight, 1.0), aggregate.total)
        report = {**report, **server.aggregator.measure(uploads, mean)}
    if not server.algorithm.needs.uploads:
        return aggregate, report
    weights = uploads.weight * uploads.accepted
    return aggregate._replace(uploads=uploads.upload, clients=uploads.client, weights=weights), report


def combine(server: Server, uploads: Uploads, round: int | jax.Array) -> tuple[Aggregate, Report]:
    """What the aggregator makes of all uploads together."""
    weights, update, usable, report = server.aggregator.combine(uploads)
    uploads = uploads._replace(key=None)
    if weights is not None:
        kept = uploads.accepted * (jnp.asarray(weights) != 0)
        left_out = jnp.where(kept > 0, 0.0, uploads.weight)  # asked for, and taken over by the others
        changed = uploads._replace(weight=jnp.where(kept > 0, weights, left_out), accepted=kept)
        return add_all(server, changed).aggregate(None, round), report
    mean = add_all(server, uploads).aggregate(None, round)
    base = mean.start if uploads.alike else pytrees.zeros_like(mean.total)
    total = pytrees.add_scaled(base, mean.weight, update)
    share = pytrees.scale(mean.share / jnp.where(mean.weight != 0, mean.weight, 1.0), total)
    by_importance = share if server.algorithm.needs.importance_sum else {}
    accepted = jnp.where(usable, mean.accepted, 0.0)
    return mean._replace(total=total, importance_sum=by_importance, accepted=accepted), report


def add_all(server: Server, uploads: Uploads) -> Tally:
    """The tally of uploads that are all here, each with its own start, added one after the other."""
    one = pytrees.row(uploads, 0)
    tally = empty_tally(one.upload, one.start, server.algorithm.needs.importance_sum)

    def add(i: jax.Array, tally: Tally) -> Tally:
        each = pytrees.row(uploads, i)
        return tally.add(each.upload, each.start, each.weight, each.importance, each.accepted)

    return lax.fori_loop(0, uploads.weight.shape[0], add, tally)
