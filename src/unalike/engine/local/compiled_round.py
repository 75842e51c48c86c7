"""The compiled round in XLA: loop over the cohort, tally the uploads, let the server step.

Each device walks over its own clients, one after the other, and adds each weighted upload to a running tally:
memory is a few models, not one per client. Uploads that are not finite are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...aggregation.base import Uploads, receive_reply
from ...aggregation.observed_updates import add_observed_updates
from ...aggregation.server_step import ClientReplies, Server, server_step
from ...aggregation.tally import Tally, empty_tally
from ...algorithms import ClientData, Reply
from ...core import pytrees
from ...typing import Leaf, Memory, Message, PyTree, Scalar, State, Upload
from ..reply_shapes import reply_shapes
from ..traced_rates import Owner, Rates, Result, fill_rates, place_rates, rated_program
from .devices import AXIS, everywhere
from .plan import Plan

PER_DEVICE, REPLICATED = PartitionSpec(AXIS), PartitionSpec()


class RoundInputs(NamedTuple):
    """What a round is told beside its plan."""

    matrix: Leaf
    """None, or the mixing matrix (receivers x cohort)."""
    slot_of_client: Leaf
    """Where each client of the cohort is in the layout, where single uploads are needed."""
    key: jax.Array
    clients: Leaf = None
    """The cohort, where single uploads are needed."""
    heaviest: Leaf = None
    """The largest weight of the step, for aggregators that finish what is mixed."""
    server_key: jax.Array | None = None


class Samples(NamedTuple):
    """Samples of many clients, one client after the other."""

    x: jax.Array
    y: jax.Array
    weights: jax.Array | None


class SingleUploads(NamedTuple):
    """What is kept of single uploads, by slot of the layout."""

    upload: PyTree
    weight: jax.Array
    """What each was asked to weigh."""
    importance: jax.Array


class Walk(NamedTuple):
    """What is carried from client to client."""

    tally: Tally
    memory: Memory
    kept: SingleUploads | dict[str, PyTree]
    """Nothing, where only sums are needed."""
    report: PyTree


def client_data(rows: Samples, plan: Plan, i: Scalar, key: jax.Array, capacity: int) -> ClientData:
    """The view of its rows that the client in slot `i` gets."""
    round = plan.read("round", i)
    return ClientData(
        x=rows.x,
        y=rows.y,
        weights=rows.weights if plan.row_weights is None else plan.row_weights[i],
        own_weights=None,
        start=plan.read("start", i),
        size=plan.read("size", i),
        steps=plan.read("steps", i),
        positions=plan.positions[i],
        round=round,
        key=jax.random.fold_in(jax.random.fold_in(key, plan.read("job", i)), plan.read("client", i)),
        capacity=capacity,
        client=plan.read("client", i),
        held=None if plan.held is None else plan.held[i],
    )


def recall(memory: Memory, fresh: jax.Array, first: Callable[[], Memory]) -> Memory:
    """A client's memory, or its first one."""
    return lax.cond(fresh, first, lambda: memory) if jax.tree.leaves(memory) else memory


class Visit(NamedTuple):
    """What one client does, in the compiled program; with `per_client`, it has a message of its own."""

    server: Server
    capacity: int
    watch: tuple[str, ...] = ()
    per_client: bool = False

    def work(
        self, sent: Message, rows: Samples, plan: Plan, key: jax.Array, i: Scalar, memory: Memory
    ) -> tuple[Message, Memory, Reply]:
        algorithm, task, _ = self.server
        data = client_data(rows, plan, i, key, self.capacity)
        message = pytrees.row(sent, i) if self.per_client else sent
        first = partial(algorithm.init_client, task, message, data.key)
        memory = recall(memory, plan.read("fresh", i) > 0, first)
        reply = algorithm.client(task, message, memory, data, data.key)
        return message, memory, reply._replace(report=add_observed_updates(self.watch, message, reply))

    def shapes(self, sent: Message, rows: Samples) -> tuple[Message, Reply]:
        """The shapes of the message that a client gets and of what it hands back."""
        algorithm, task, _ = self.server
        message = jax.eval_shape(lambda m: pytrees.row(m, 0) if self.per_client else m, sent)
        reply = reply_shapes(algorithm, task, message, rows.x, rows.y)
        report = jax.eval_shape(partial(add_observed_updates, self.watch), message, reply)
        return message, reply._replace(report=report)


def make_walk(visit: Visit, keep: bool, summed: bool = True) -> Callable[..., Walk]:
    """Visit this device's clients one after the other and tally what they send, over all devices:
    `(sent, rows, plan, memory, key) -> walk`. With `keep`, single uploads are kept; without `summed`, they
    are not added up."""
    algorithm, aggregator = visit.server.algorithm, visit.server.aggregator

    def walk(sent: Message, rows: Samples, plan: Plan, memory: Memory, key: jax.Array) -> Walk:
        go = partial(visit.work, sent, rows, plan, key)
        message, reply = visit.shapes(sent, rows)
        start = message if visit.per_client and summed else None
        tally = empty_tally(reply.upload, start, algorithm.needs.importance_sum)
        report = jax.eval_shape(lambda r, m: receive_reply(aggregator, r, m).report, reply, message)
        begun = Walk(
            tally if summed else tally._replace(total=Upload({})),
            memory,
            SingleUploads(zeros(reply.upload, plan.slots), *jnp.zeros((2, plan.slots))) if keep else {},
            zeros(report, plan.slots),
        )
        done = lax.fori_loop(0, plan.read("taken", 0), lambda i, w: _add(visit, go, plan, i, w), begun)
        return done._replace(tally=_over_devices(done.tally))

    return walk


def _add(
    visit: Visit, go: Callable[..., tuple[Message, Memory, Reply]], plan: Plan, i: Scalar, walk: Walk
) -> Walk:
    """Visit the client in slot `i` and add what it sends."""
    message, old, reply = go(i, pytrees.row(walk.memory, i))
    upload, factor, report = receive_reply(visit.server.aggregator, reply, message)
    accepted, importance = report["accepted"], plan.read("importance", i)
    weight = plan.read("weight", i) if factor is None else factor * plan.read("weight", i)
    kept = walk.kept
    return Walk(
        walk.tally.add(upload, message, weight, importance, accepted),
        set_row(walk.memory, i, pytrees.where(accepted > 0, reply.memory, old)),
        set_row(kept, i, SingleUploads(upload, weight, importance))
        if isinstance(kept, SingleUploads)
        else kept,
        set_row(walk.report, i, report),
    )


def _over_devices(tally: Tally) -> Tally:
    """The tallies of all devices merged; the numbers go as one array, because each takes a hand-over."""
    sums, numbers = lax.psum((tally[:3], jnp.stack(tally[3:])), AXIS)
    return Tally(*sums, *numbers)


def make_round(visit: Visit, matrix: bool = False) -> Callable[..., tuple[State, Memory, PyTree, PyTree]]:
    """One round, as every device runs it: `(state, sent, rows, plan, memory, call) -> (state, memory, report,
    judgment)`; the judgment is the aggregator's, in the order of the cohort.

    Each device has its own slots of the plan; after the sums over devices all of them take the same server
    step.
    """
    server, keep = visit.server, visit.server.keeps_uploads(matrix)
    walk = make_walk(visit, keep, server.sums_uploads(matrix))

    def round(
        state: State, sent: Message, rows: Samples, plan: Plan, memory: Memory, call: RoundInputs
    ) -> tuple[State, Memory, PyTree, PyTree]:
        done = walk(sent, rows, plan, memory, call.key)
        uploads = cohort_uploads(visit, done, sent, call.slot_of_client, call.clients) if keep else None
        everything = ClientReplies(done.tally, uploads, call.matrix, call.heaviest)
        message = None if visit.per_client else sent
        number = plan.read("round", 0)
        state, judgment = server_step(server, state, everything, message, number, call.server_key)
        return state, done.memory, done.report, judgment

    return round


def cohort_uploads(visit: Visit, done: Walk, sent: Message, slots: jax.Array, clients: jax.Array) -> Uploads:
    """The single uploads of all devices, in the order of the cohort."""
    kept: PyTree = done.kept
    here = (kept, done.report["accepted"])
    (upload, weight, importance), accepted = in_cohort_order(here, slots)
    start = None
    if visit.server.aggregator.needs.combine:
        many = accepted.shape[0]
        start = (
            in_cohort_order(sent, slots)
            if visit.per_client
            else jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (many, *leaf.shape)), sent)
        )
    return Uploads(upload, weight, importance, accepted, clients, start)


@rated_program
def round_program(
    visit: Visit, mesh: Mesh, gathered: bool, matrix: bool
) -> Callable[..., tuple[State, Memory, PyTree, PyTree]]:
    """Compile one round; with `matrix`, receivers mix for themselves."""
    given = (REPLICATED, *_partition_specs(visit, gathered), PER_DEVICE, PER_DEVICE, REPLICATED)
    made = (REPLICATED, PER_DEVICE, PER_DEVICE, REPLICATED)
    return compile_program(lambda own: make_round(own, matrix), visit, mesh, given, made)


@rated_program
def walk_program(visit: Visit, mesh: Mesh, gathered: bool, keep: bool) -> Callable[..., Walk]:
    """Compile the clients' part of a round: `(sent, rows, plan, memory, key) -> walk`."""
    given = (*_partition_specs(visit, gathered), PER_DEVICE, PER_DEVICE, REPLICATED)
    made: PyTree = (REPLICATED, PER_DEVICE, PER_DEVICE, PER_DEVICE)
    return compile_program(lambda own: make_walk(own, keep), visit, mesh, given, Walk(*made))


@rated_program
def rounds_program(visit: Visit, mesh: Mesh) -> Callable[..., tuple[State, PyTree]]:
    """Compile several rounds in a row: `(state, rows, plans, count, key) -> (state, reports)`.

    Plans and reports have a leading axis for rounds, of which the first `count` are real. For methods whose
    clients remember nothing, so that the host has nothing to do between two rounds.
    """
    each = PartitionSpec(None, AXIS)
    given = (REPLICATED, REPLICATED, each, REPLICATED, REPLICATED)
    return compile_program(make_rounds, visit, mesh, given, (REPLICATED, each))


def make_rounds(visit: Visit) -> Callable[..., tuple[State, PyTree]]:
    """Several rounds, as every device runs them."""
    algorithm, task, aggregator = visit.server
    one = make_round(visit)

    def rounds(
        state: State, rows: Samples, plans: Plan, count: jax.Array, key: jax.Array
    ) -> tuple[State, PyTree]:
        def take(state: State, k: jax.Array) -> tuple[State, PyTree]:
            message = algorithm.broadcast(task, state)
            state, _, report, _ = one(
                state, message, rows, pytrees.row(plans, k), {}, RoundInputs(None, None, key)
            )
            return state, report

        first = pytrees.row(plans, 0)
        message = algorithm.broadcast(task, state)
        _, reply = visit.shapes(message, rows)
        shapes = jax.eval_shape(lambda r, m: receive_reply(aggregator, r, m).report, reply, message)
        reports = zeros(zeros(shapes, first.slots), plans.numbers.shape[0])

        def step(k: jax.Array, carry: tuple[State, PyTree]) -> tuple[State, PyTree]:
            state, report = take(carry[0], k)
            return state, set_row(carry[1], k, report)

        return lax.fori_loop(0, count[0], step, (state, reports))

    return rounds


def _partition_specs(visit: Visit, gathered: bool) -> tuple[PartitionSpec, PartitionSpec]:
    """Where messages and rows lie."""
    return PER_DEVICE if visit.per_client else REPLICATED, PER_DEVICE if gathered else REPLICATED


def compile_program(
    make: Callable[[Owner], Callable[..., Result]],
    template: Owner,
    mesh: Mesh,
    given: tuple[PartitionSpec, ...],
    made: PyTree,
) -> Callable[..., Result]:
    """Run what is made of a method on every device, told its rates before everything else. Plans come
    straight from NumPy: naming the places lets the call itself put them there."""

    def function(rates: Rates, *arguments: PyTree) -> Result:
        return make(fill_rates(template, rates))(*arguments)

    given = (REPLICATED, *given)
    sharded = jax.shard_map(function, mesh=mesh, in_specs=given, out_specs=made, check_vma=False)
    program = jax.jit(sharded, in_shardings=tuple(NamedSharding(mesh, place) for place in given))
    where = everywhere(mesh)
    return lambda rates, *arguments: program(place_rates(rates, where), *arguments)


def in_cohort_order(local: PyTree, slot_of_client: jax.Array) -> PyTree:
    """What all devices hold for their slots, brought together in the order of the cohort."""
    return jax.tree.map(lambda leaf: lax.all_gather(leaf, AXIS, tiled=True)[slot_of_client], local)


def zeros(shapes: PyTree, slots: int | None = None) -> PyTree:
    """Zeros of these shapes, with a leading axis if asked for."""
    lead = () if slots is None else (slots,)
    return jax.tree.map(lambda s: jnp.zeros((*lead, *s.shape), s.dtype), shapes)


def set_row(tree: PyTree, i: Scalar, values: PyTree) -> PyTree:
    """The tree with row `i` replaced."""
    return jax.tree.map(lambda whole, one: whole.at[i].set(one), tree, values)
