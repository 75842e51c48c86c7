"""What is compiled?  (One round: walk over the cohort, add up the weighted uploads, let the server step.)

Each device walks over its own clients, one after the other, and adds each weighted upload to a running sum:
memory is a few models, not one per client. Uploads that are not finite are left out and the rest is scaled
up to the same total weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...aggregation.observed_updates import watched
from ...algorithms import Aggregate, Algorithm, ClientData, Reply
from ...algorithms.base import as_promised
from ...core import pytrees
from ...core.pytrees import Tree
from ...models import Task
from ..programs import cached_program
from .devices import AXIS
from .plan import Plan

PER_DEVICE, REPLICATED = PartitionSpec(AXIS), PartitionSpec()


class Call(NamedTuple):
    """What a round is told beside its plan."""

    mixing: Any
    """None, or the mixing matrix (receivers x cohort)."""
    slot_of_client: Any
    """Where each client of the cohort is in the layout, for algorithms that look at single uploads."""
    key: Any
    clients: Any = None
    """The cohort, for algorithms that look at single uploads."""


class Rows(NamedTuple):
    """Samples of many clients, one client after the other."""

    x: Any
    y: Any
    weights: Any


class Sums(NamedTuple):
    """Numbers added up over clients: weights asked for and accepted, accepted clients and their
    importances."""

    asked: Any
    given: Any
    accepted: Any
    share: Any


class Walk(NamedTuple):
    """What is carried from client to client."""

    total: Tree
    start: Tree
    """The same sum of the messages that clients were sent, where these differ."""
    even: Tree
    """The sum of uploads by importance, for algorithms that need it."""
    sums: Sums
    memory: Tree
    uploads: Tree
    weights: Tree
    """What every upload weighs, where they are kept."""
    report: Tree


def client_data(rows: Rows, plan: Plan, i: Any, key: jax.Array, capacity: int) -> ClientData:
    """The view of its rows that the client in place `i` gets."""
    round = plan.read("round", i)
    return ClientData(
        x=rows.x,
        y=rows.y,
        weights=rows.weights,
        own_weights=None,
        start=plan.read("start", i),
        size=plan.read("size", i),
        steps=plan.read("steps", i),
        positions=plan.positions[i],
        round=round,
        key=jax.random.fold_in(jax.random.fold_in(key, plan.read("job", i)), plan.read("client", i)),
        capacity=capacity,
        client=plan.read("client", i),
    )


def recall(memory: Tree, fresh: jax.Array, first: Callable[[], Tree]) -> Tree:
    """A client's memory, or its first one."""
    return lax.cond(fresh, first, lambda: memory) if jax.tree.leaves(memory) else memory


@dataclass(frozen=True)
class Visit:
    """What one client does, in the compiled program; with `own`, it has a message of its own."""

    algorithm: Algorithm
    task: Task
    capacity: int
    watch: tuple[str, ...] = ()
    own: bool = False
    _shapes: dict[str, tuple[Tree, Tree, Reply]] = field(default_factory=dict)

    def __call__(
        self, told: Tree, rows: Rows, plan: Plan, key: jax.Array, i: Any, memory: Tree
    ) -> tuple[Tree, Tree, Reply]:
        data = client_data(rows, plan, i, key, self.capacity)
        message = pytrees.row(told, i) if self.own else told
        first = partial(self.algorithm.init_client, self.task, message, data.key)
        memory = recall(memory, plan.read("fresh", i) > 0, first)
        reply = self.algorithm.client(self.task, message, memory, data, data.key)
        return message, memory, reply._replace(report=watched(self.watch, message, reply))

    def shapes(
        self, told: Tree, rows: Rows, plan: Plan, key: jax.Array, memory: Tree
    ) -> tuple[Tree, Tree, Reply]:
        """The shapes of what a visit returns. Tracing a client takes most of a start, so they are kept."""
        given = str(jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), (told, rows, plan, memory)))
        if given not in self._shapes:
            self._shapes[given] = jax.eval_shape(
                partial(self, told, rows, plan, key), 0, pytrees.row(memory, 0)
            )
        return self._shapes[given]


def make_walk(visit: Visit, keep: bool) -> Callable[..., Walk]:
    """Visit this device's clients one after the other and add up what they send, over all devices:
    `(told, rows, plan, memory, key) -> walk`. With `visit.own`, each place has a message of its own; with
    `keep`, uploads are kept."""
    algorithm, own = visit.algorithm, visit.own

    def walk(told: Tree, rows: Rows, plan: Plan, memory: Tree, key: jax.Array) -> Walk:
        go = partial(visit, told, rows, plan, key)
        message, _, shapes = visit.shapes(told, rows, plan, key, memory)
        summed = not algorithm.decentralized
        start = Walk(
            zeros(shapes.upload) if summed else {},
            zeros(summed_up(message)) if own and summed else {},
            zeros(shapes.upload) if algorithm.sums_by_importance else {},
            Sums(*jnp.zeros(len(Sums._fields))),
            memory,
            zeros(shapes.upload, plan.slots) if keep else {},
            jnp.zeros(plan.slots) if keep else {},
            zeros(reported(shapes), plan.slots),
        )
        done = lax.fori_loop(0, plan.read("taken", 0), lambda i, w: _add(w, i, plan, go, keep), start)
        total, begun, even, sums = lax.psum((done.total, done.start, done.even, jnp.stack(done.sums)), AXIS)
        return done._replace(total=total, start=begun, even=even, sums=Sums(*sums))

    return walk


class Totals(NamedTuple):
    """What a cohort's work comes to; what is kept of single clients is in the order of the cohort."""

    total: Tree
    start: Tree
    even: Tree
    sums: Sums
    uploads: Tree
    weights: Tree
    accepted: Any


def settled(
    algorithm: Algorithm, task: Task, state: Tree, told: Tree, done: Totals, call: Call, round: Any, own: bool
) -> Tree:
    """The server's state after a cohort's work; with `own`, clients started from messages of their own."""
    asked, given, accepted, share = done.sums
    if call.mixing is None:
        ratio = reweight(asked, given)
        begun = done.start if own else pytrees.scale(given, told)
        total, start = pytrees.scale(ratio, done.total), pytrees.scale(ratio, begun)
    else:
        total, start = mix(call.mixing, done.uploads, done.accepted), None
        asked = call.mixing @ done.accepted
    weights = done.weights if algorithm.keeps_uploads else None
    mixed = Aggregate(
        total, start, asked, accepted, share, round, done.even, done.uploads, call.clients, weights
    )
    return step_unless_empty(algorithm, task, state, mixed)


def make_round(visit: Visit) -> Callable[..., tuple[Tree, Tree, Tree]]:
    """One round, as every device runs it: `(state, told, rows, plan, memory, call) -> (state, memory,
    report)`.

    Each device has its own places of the plan; after the sums over devices all of them take the same server
    step.
    """
    algorithm, task, own = visit.algorithm, visit.task, visit.own
    keep = algorithm.keeps_uploads or algorithm.decentralized
    walk = make_walk(visit, keep)

    def round(
        state: Tree, told: Tree, rows: Rows, plan: Plan, memory: Tree, call: Call
    ) -> tuple[Tree, Tree, Tree]:
        done = walk(told, rows, plan, memory, call.key)
        kept = (done.uploads, done.weights, done.report["accepted"])
        uploads, weights, accepted = (
            in_cohort_order(kept, call.slot_of_client) if keep else (None, None, None)
        )
        totals = Totals(done.total, done.start, done.even, done.sums, uploads, weights, accepted)
        new = settled(algorithm, task, state, told, totals, call, plan.read("round", 0), own)
        return new, done.memory, done.report

    return round


def step_unless_empty(algorithm: Algorithm, task: Task, state: Tree, mixed: Aggregate) -> Tree:
    """The server's state after a step; momentum must not move it when nothing was accepted."""
    return pytrees.where(
        mixed.accepted > 0, algorithm.aggregate(task, state, as_promised(algorithm, mixed)), state
    )


@cached_program
def round_program(
    algorithm: Algorithm,
    task: Task,
    mesh: Mesh,
    gathered: bool,
    capacity: int,
    watch: tuple[str, ...] = (),
    own: bool = False,
) -> Callable[..., Any]:
    """Compile one round."""
    slots = (
        REPLICATED,
        PER_DEVICE if own else REPLICATED,
        PER_DEVICE if gathered else REPLICATED,
        PER_DEVICE,
        PER_DEVICE,
        REPLICATED,
    )
    visit = Visit(algorithm, task, capacity, watch, own)
    return compiled(make_round(visit), mesh, slots, (REPLICATED, PER_DEVICE, PER_DEVICE))


@cached_program
def walk_program(
    algorithm: Algorithm,
    task: Task,
    mesh: Mesh,
    gathered: bool,
    capacity: int,
    watch: tuple[str, ...] = (),
    own: bool = False,
    keep: bool = False,
) -> Callable[..., Walk]:
    """Compile the clients' part of a round: `(told, rows, plan, memory, key) -> walk`."""
    slots = (
        PER_DEVICE if own else REPLICATED,
        PER_DEVICE if gathered else REPLICATED,
        PER_DEVICE,
        PER_DEVICE,
        REPLICATED,
    )
    each: Any = (REPLICATED,) * 4 + (PER_DEVICE,) * 4
    made: Any = Walk(*each)
    visit = Visit(algorithm, task, capacity, watch, own)
    return compiled(make_walk(visit, keep), mesh, slots, made)


@cached_program
def rounds_program(algorithm: Algorithm, task: Task, mesh: Mesh, capacity: int) -> Callable[..., Any]:
    """Compile several rounds in a row: `(state, rows, plans, count, key) -> (state, reports)`.

    Plans and reports have a leading axis for rounds, of which the first `count` are real. For methods whose
    clients remember nothing, so that the host has nothing to do between two rounds.
    """
    visit = Visit(algorithm, task, capacity)
    one = make_round(visit)

    def rounds(state: Tree, rows: Rows, plans: Plan, count: Any, key: Any) -> tuple[Tree, Tree]:
        def turn(state: Tree, k: Any) -> tuple[Tree, Tree]:
            message = algorithm.broadcast(task, state)
            state, _, report = one(state, message, rows, pytrees.row(plans, k), {}, Call(None, None, key))
            return state, report

        first = pytrees.row(plans, 0)
        reply = visit.shapes(algorithm.broadcast(task, state), rows, first, key, {})[2]
        each = zeros(reported(reply), first.slots)
        reports = zeros(each, plans.numbers.shape[0])

        def step(k: Any, carry: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
            state, report = turn(carry[0], k)
            return state, set_row(carry[1], k, report)

        return lax.fori_loop(0, count[0], step, (state, reports))

    each = PartitionSpec(None, AXIS)
    return compiled(rounds, mesh, (REPLICATED, REPLICATED, each, REPLICATED, REPLICATED), (REPLICATED, each))


def compiled(
    function: Callable[..., Any], mesh: Mesh, given: tuple[Any, ...], made: tuple[Any, ...]
) -> Callable[..., Any]:
    """Run on every device. Plans come straight from NumPy: naming the places lets the call itself put them
    there."""
    sharded = jax.shard_map(function, mesh=mesh, in_specs=given, out_specs=made, check_vma=False)
    return jax.jit(sharded, in_shardings=tuple(NamedSharding(mesh, place) for place in given))


def in_cohort_order(local: Tree, slot_of_client: Any) -> Tree:
    """What all devices hold for their places, brought together in the order of the cohort."""
    return jax.tree.map(lambda leaf: lax.all_gather(leaf, AXIS, tiled=True)[slot_of_client], local)


def mix(matrix: jax.Array, uploads: Tree, accepted: jax.Array) -> Tree:
    """One weighted sum of uploads per row of the matrix, over the accepted ones, keeping each row's sum."""
    kept = matrix * accepted
    kept = kept * reweight(matrix.sum(1), kept.sum(1))[:, None]
    return jax.tree.map(lambda u: jnp.tensordot(kept, u, axes=1), uploads)


def _add(walk: Walk, i: Any, plan: Plan, go: Callable[..., tuple[Tree, Tree, Reply]], keep: bool) -> Walk:
    """Visit the client in place `i` and add what it sends."""
    message, old, reply = go(i, pytrees.row(walk.memory, i))
    accepted = pytrees.all_finite(reply.upload)
    upload = pytrees.where(accepted, reply.upload, pytrees.zeros_like(reply.upload))
    memory = pytrees.where(accepted, reply.memory, old)
    weight = plan.read("weight", i)
    given, one, share = (jnp.where(accepted, n, 0.0) for n in (weight, 1.0, plan.read("importance", i)))
    sums = Sums(*(a + b for a, b in zip(walk.sums, (weight, given, one, share), strict=True)))
    report = {"accepted": accepted.astype(jnp.float32), **reply.report}
    return Walk(
        pytrees.add_scaled(walk.total, given, upload) if jax.tree.leaves(walk.total) else walk.total,
        pytrees.add_scaled(walk.start, given, message) if jax.tree.leaves(walk.start) else walk.start,
        pytrees.add_scaled(walk.even, share, upload) if jax.tree.leaves(walk.even) else walk.even,
        sums,
        set_row(walk.memory, i, memory),
        set_row(walk.uploads, i, upload) if keep else walk.uploads,
        set_row(walk.weights, i, given) if keep else walk.weights,
        set_row(walk.report, i, report),
    )


def reported(reply: Reply) -> Tree:
    """The shapes of what is recorded of one client."""
    return {"accepted": jax.ShapeDtypeStruct((), jnp.float32), **reply.report}


def reweight(asked: jax.Array, given: jax.Array) -> jax.Array:
    """What brings the accepted weight back to the weight that was asked for."""
    return jnp.where(given != 0, asked / jnp.where(given != 0, given, 1.0), 0.0)


def zeros(shapes: Tree, slots: int | None = None) -> Tree:
    """Zeros of these shapes, with a leading axis if asked for."""
    lead = () if slots is None else (slots,)
    return jax.tree.map(lambda s: jnp.zeros((*lead, *s.shape), s.dtype), shapes)


def summed_up(shapes: Tree) -> Tree:
    """The shapes of weighted sums: whole numbers, weighted, are fractions."""
    return jax.tree.map(
        lambda s: jax.ShapeDtypeStruct(s.shape, jnp.promote_types(s.dtype, jnp.float32)), shapes
    )


def set_row(tree: Tree, i: Any, values: Tree) -> Tree:
    """The tree with row `i` replaced."""
    return jax.tree.map(lambda whole, one: whole.at[i].set(one), tree, values)
