"""How are many small aggregations run as one cohort?

Results that start from models which are already there do not depend on each other, even if the server
aggregates them one after the other: their local work is one cohort, spread over the cores. Then the server
takes its steps in order, on what each client sent and what it had been sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from ...algorithms import Aggregate, Algorithm
from ...core import pytrees
from ...core.pytrees import Tree
from ...models import Task
from ...timing import Step
from ...typing import Float64s, Int64s
from ..base import Messages
from ..programs import cached_program
from .layout import Layout
from .plan import Plan
from .program import (
    PER_DEVICE,
    REPLICATED,
    Rows,
    Visit,
    compiled,
    in_cohort_order,
    make_walk,
    reweight,
    set_row,
    step_unless_empty,
    zeros,
)


class Order(NamedTuple):
    """The results in the order in which the server takes them."""

    slot_of_client: Any
    """Where each is in the layout."""
    weight: Any
    importance: Any
    last: Any
    """Whether it is the last of its step."""
    round: Any
    """The number of its step."""
    count: Any
    """How many results are real (an array of one number)."""


class Server(NamedTuple):
    """What is carried from result to result."""

    state: Tree
    total: Tree
    start: Tree
    even: Tree
    asked: Any
    given: Any
    accepted: Any
    share: Any
    steps: Any
    messages: Tree


def make_stale(
    algorithm: Algorithm, task: Task, capacity: int, watch: tuple[str, ...]
) -> Callable[..., tuple[Tree, Tree, Tree, Tree]]:
    """Some steps, as every device runs them: `(state, told, rows, plan, memory, order, key) -> (state,
    messages, memory, report)`."""
    walk = make_walk(Visit(algorithm, task, capacity, watch, own=True), keep=True)

    def steps(
        state: Tree, told: Tree, rows: Rows, plan: Plan, memory: Tree, order: Order, key: jax.Array
    ) -> tuple[Tree, Tree, Tree, Tree]:
        done = walk(told, rows, plan, memory, key)
        sent, begun, accepted = (
            in_cohort_order(part, order.slot_of_client)
            for part in (done.uploads, told, done.report["accepted"])
        )

        def take(i: Any, server: Server) -> Server:
            given, share = accepted[i] * order.weight[i], accepted[i] * order.importance[i]
            even = server.even
            if algorithm.sums_by_importance:
                even = pytrees.add_scaled(even, share, pytrees.row(sent, i))
            server = server._replace(
                total=pytrees.add_scaled(server.total, given, pytrees.row(sent, i)),
                start=pytrees.add_scaled(server.start, given, pytrees.row(begun, i)),
                even=even,
                asked=server.asked + order.weight[i],
                given=server.given + given,
                accepted=server.accepted + accepted[i],
                share=server.share + share,
            )
            return lax.cond(order.last[i], lambda s: close(s, order.round[i]), lambda s: s, server)

        def close(server: Server, round: Any) -> Server:
            ratio = reweight(server.asked, server.given)
            total, start = pytrees.scale(ratio, server.total), pytrees.scale(ratio, server.start)
            asked, accepted, share = server.asked, server.accepted, server.share
            mixed = Aggregate(total, start, asked, accepted, share, round=round, importance_sum=server.even)
            new = step_unless_empty(algorithm, task, server.state, mixed)
            messages = set_row(server.messages, server.steps, algorithm.broadcast(task, new))
            return opened(new, server.steps + 1, messages)

        def opened(state: Tree, count: Any, messages: Tree) -> Server:
            nothing = jnp.zeros(())
            upload, message = (
                jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), t) for t in (sent, begun)
            )
            even = upload if algorithm.sums_by_importance else {}
            return Server(state, upload, message, even, nothing, nothing, nothing, nothing, count, messages)

        told_later = jax.eval_shape(lambda s: algorithm.broadcast(task, s), state)
        first = opened(state, jnp.zeros((), jnp.int32), zeros(told_later, len(order.slot_of_client)))
        end = lax.fori_loop(0, order.count[0], take, first)
        return end.state, end.messages, done.memory, done.report

    return steps


@cached_program
def stale_program(
    algorithm: Algorithm, task: Task, mesh: Mesh, gathered: bool, capacity: int, watch: tuple[str, ...]
) -> Callable[..., Any]:
    """Compile some steps in a row."""
    given = (
        REPLICATED,
        PER_DEVICE,
        PER_DEVICE if gathered else REPLICATED,
        PER_DEVICE,
        PER_DEVICE,
        REPLICATED,
        REPLICATED,
    )
    return compiled(
        make_stale(algorithm, task, capacity, watch),
        mesh,
        given,
        (REPLICATED, REPLICATED, PER_DEVICE, PER_DEVICE),
    )


def power_of_two(n: int) -> int:
    """The next power of two.

    >>> [power_of_two(n) for n in (1, 3, 8, 9)]
    [1, 4, 8, 16]
    """
    return 1 << max(n - 1, 0).bit_length()


def one_cohort(steps: list[Step]) -> tuple[Step, Int64s]:
    """The clients of some steps as one, and where each step ends; no client is in two of them."""
    ends = np.cumsum([len(step.clients) for step in steps])
    if len(steps) == 1:
        return steps[0], ends
    jobs = [np.full(len(s.clients), s.number) if s.jobs is None else s.jobs for s in steps]
    clients, versions, weights = (
        np.concatenate([getattr(step, name) for step in steps]) for name in ("clients", "versions", "weights")
    )
    return Step(steps[0].number, clients, versions, weights, jobs=np.concatenate(jobs)), ends


def as_rows(told: Messages, clients: int) -> Tree:
    """One message for each client, also where they were all sent the same."""
    if told.own:
        return told.message
    return jax.tree.map(
        lambda leaf: np.broadcast_to(np.asarray(leaf), (clients, *np.shape(leaf))), told.message
    )


def in_order(
    whole: Step,
    ends: Int64s,
    numbers: Int64s,
    layout: Layout,
    importance: Float64s,
) -> Order:
    """The order in which the server takes results, padded to one of a few lengths."""
    count = len(whole.clients)
    last = np.zeros(count, bool)
    last[ends - 1] = True
    room = (0, power_of_two(count) - count)
    return Order(
        np.pad(layout.slot_of_client.astype(np.int32), room),
        np.pad(whole.weights.astype(np.float32), room),
        np.pad(importance[whole.clients].astype(np.float32), room),
        np.pad(last, room),
        np.pad(numbers.astype(np.int32), room),
        np.array([count], np.int32),
    )
