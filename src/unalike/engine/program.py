"""What is compiled?  (One round: walk over the cohort, add up the weighted uploads, let the server step.)

Each device walks over its own clients, one after the other, and adds each weighted upload to a running sum:
memory is a few models, not one per client. Uploads that are not finite are left out and the rest is scaled
up to the same total weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .. import trees
from ..algorithms import Algorithm, ClientData, Mixed, Reply
from ..models import Task
from ..trees import Tree
from .devices import AXIS

HERE, ALL = PartitionSpec(AXIS), PartitionSpec()


class Plan(NamedTuple):
    """What each place of the layout has to do (leading axis: devices x places)."""

    numbers: Any
    """int32 columns: client, start, size, steps, version, fresh."""
    weights: Any
    """float32 columns: weight of the upload, importance of the client."""
    positions: Any
    taken: Any
    """int32, one per device: how many of its places are taken."""


class Call(NamedTuple):
    """What a round is told beside its plan."""

    mixing: Any
    """None, or the mixing matrix (receivers x cohort)."""
    home: Any
    """Where each client of the cohort is in the layout."""
    round: Any
    key: Any


class Rows(NamedTuple):
    """Samples of many clients, one client after the other."""

    x: Any
    y: Any
    weights: Any


class Walk(NamedTuple):
    """What is carried from client to client."""

    total: Tree
    weight: jax.Array
    asked: jax.Array
    accepted: jax.Array
    share: jax.Array
    begun: jax.Array
    """The weight that started from each version."""
    memory: Tree
    uploads: Tree
    report: Tree


_SUMMED = ("total", "weight", "asked", "accepted", "share", "begun")
_WALK_PLACES: Any = Walk(*(ALL if name in _SUMMED else HERE for name in Walk._fields))  # type: ignore[arg-type]


def client_data(
    rows: Rows, plan: Plan, i: Any, round: jax.Array, key: jax.Array, capacity: int
) -> ClientData:
    """The view of its rows that the client in place `i` gets."""
    client, start, size, steps = (plan.numbers[i, column] for column in range(4))
    own = jax.random.fold_in(jax.random.fold_in(key, round), client)
    return ClientData(
        rows.x, rows.y, rows.weights, None, start, size, steps, plan.positions[i], round, own, capacity
    )


def recall(
    algorithm: Algorithm, task: Task, message: Tree, memory: Tree, fresh: jax.Array, key: jax.Array
) -> Tree:
    """A client's memory, or its first one."""
    if not jax.tree.leaves(memory):
        return memory
    return lax.cond(fresh, lambda: algorithm.init_client(task, message, key), lambda: memory)


@lru_cache(maxsize=16)
def round_program(
    algorithm: Algorithm, task: Task, mesh: Mesh, gathered: bool, capacity: int
) -> Callable[..., Any]:
    """Compile `(state, messages, rows, plan, memory, call) -> (state, memory, report)` for
    this algorithm."""
    keep = algorithm.keeps_uploads or algorithm.decentralised

    def visit(
        messages: Tree,
        one: bool,
        rows: Rows,
        plan: Plan,
        round: jax.Array,
        key: jax.Array,
        i: Any,
        memory: Tree,
    ) -> tuple[Tree, Reply]:
        data = client_data(rows, plan, i, round, key, capacity)
        version = i if algorithm.decentralised else plan.numbers[i, 4]
        message = messages if one else trees.row(messages, version)
        memory = recall(algorithm, task, message, memory, plan.numbers[i, 5] > 0, data.key)
        return memory, algorithm.client(task, message, memory, data, data.key)

    def walk(messages: Any, rows: Rows, plan: Plan, memory: Tree, round: jax.Array, key: jax.Array) -> Walk:
        one = len(messages) == 1 and not algorithm.decentralised
        shared = messages[0] if one or algorithm.decentralised else trees.stack(list(messages))
        go = partial(visit, shared, one, rows, plan, round, key)
        _, shapes = jax.eval_shape(go, 0, trees.row(memory, 0))
        places = plan.numbers.shape[0]
        zero = jnp.zeros(())
        start = Walk(
            _zeros(shapes.upload) if not algorithm.decentralised else {},
            zero,
            zero,
            zero,
            zero,
            jnp.zeros(len(messages)),
            memory,
            _zeros(shapes.upload, places) if keep else {},
            _zeros({"accepted": zero, **shapes.report}, places),
        )
        done = lax.fori_loop(0, plan.taken[0], lambda i, w: _add(w, i, plan, go, keep), start)
        return done._replace(**lax.psum({name: getattr(done, name) for name in _SUMMED}, AXIS))

    sharded = jax.shard_map(
        walk,
        mesh=mesh,
        in_specs=(HERE if algorithm.decentralised else ALL, HERE if gathered else ALL, HERE, HERE, ALL, ALL),
        out_specs=_WALK_PLACES,
        check_vma=False,
    )

    here, everywhere = NamedSharding(mesh, HERE), NamedSharding(mesh, ALL)
    told = here if algorithm.decentralised else everywhere
    # Plans come straight from NumPy; naming the places lets the call itself put everything there.
    places = (everywhere, told, here if gathered else everywhere, here, here, everywhere)

    @partial(jax.jit, in_shardings=places)
    def program(
        state: Tree, messages: Any, rows: Rows, plan: Plan, memory: Tree, call: Call
    ) -> tuple[Tree, Tree, Tree]:
        done = sharded(messages, rows, plan, memory, call.round, call.key)
        uploads = trees.row(done.uploads, call.home) if keep else None
        if call.mixing is None:
            ratio = _restored(done.asked, done.weight)
            total, start = trees.scale(ratio, done.total), weighted_sum(ratio * done.begun, messages)
        else:
            total, start = mix(call.mixing, uploads, done.report["accepted"][call.home]), None
        mixed = Mixed(total, start, done.asked, done.accepted, done.share, uploads, call.round)
        new = algorithm.aggregate(task, state, mixed)
        # Momentum must not move the server in a round in which nothing was accepted.
        return trees.where(done.accepted > 0, new, state), done.memory, done.report

    return program


def weighted_sum(weights: jax.Array, parts: Sequence[Tree]) -> Tree:
    """sum_k weights[k] * parts[k]."""
    answer = trees.scale(weights[0], parts[0])
    for k, part in enumerate(parts[1:], start=1):
        answer = trees.add_scaled(answer, weights[k], part)
    return answer


def mix(matrix: jax.Array, uploads: Tree, accepted: jax.Array) -> Tree:
    """One weighted sum of uploads per row of the matrix, over the accepted ones, keeping each row's sum."""
    kept = matrix * accepted
    kept = kept * _restored(matrix.sum(1), kept.sum(1))[:, None]
    return jax.tree.map(lambda u: jnp.tensordot(kept, u, axes=1), uploads)


def _add(walk: Walk, i: Any, plan: Plan, go: Callable[..., tuple[Tree, Reply]], keep: bool) -> Walk:
    """Visit the client in place `i` and add what it sends."""
    (weight, importance), version = plan.weights[i], plan.numbers[i, 4]
    old, reply = go(i, trees.row(walk.memory, i))
    accepted = trees.all_finite(reply.upload)
    upload = trees.where(accepted, reply.upload, trees.zeros_like(reply.upload))
    memory = trees.where(accepted, reply.memory, old)
    counted = jnp.where(accepted, weight, 0.0)
    report = {"accepted": accepted.astype(jnp.float32), **reply.report}
    return Walk(
        trees.add_scaled(walk.total, counted, upload) if jax.tree.leaves(walk.total) else walk.total,
        walk.weight + counted,
        walk.asked + weight,
        walk.accepted + accepted,
        walk.share + jnp.where(accepted, importance, 0.0),
        walk.begun.at[version].add(counted),
        _put(walk.memory, i, memory),
        _put(walk.uploads, i, upload) if keep else walk.uploads,
        _put(walk.report, i, report),
    )


def _restored(asked: jax.Array, given: jax.Array) -> jax.Array:
    return jnp.where(given != 0, asked / jnp.where(given != 0, given, 1.0), 0.0)


def _zeros(shapes: Tree, places: int | None = None) -> Tree:
    lead = () if places is None else (places,)
    return jax.tree.map(lambda s: jnp.zeros((*lead, *s.shape), s.dtype), shapes)


def _put(tree: Tree, i: Any, values: Tree) -> Tree:
    return jax.tree.map(lambda whole, one: whole.at[i].set(one), tree, values)
