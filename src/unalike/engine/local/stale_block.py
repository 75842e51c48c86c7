"""Blocks of stale steps: many small asynchronous aggregations as one cohort.

Results that start from models which are already there do not depend on each other, even if the server
aggregates them one after the other: their local work is one cohort, spread over the cores. Then the server
takes its steps in order, on what each client sent and what it had been sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from ...aggregation.server_step import ClientReplies, server_step
from ...aggregation.tally import Tally, empty_tally
from ...core import pytrees
from ...typing import Int64s, Leaf, Memory, Message, PyTree, State
from ..traced_rates import rated_program
from .batches import power_of_two
from .compiled_round import (
    PER_DEVICE,
    REPLICATED,
    Samples,
    Visit,
    compile_program,
    in_cohort_order,
    make_walk,
    set_row,
    zeros,
)
from .layout import Layout
from .plan import Plan


class Order(NamedTuple):
    """The results in the order in which the server takes them."""

    slot: Leaf
    """Where each is in the layout."""
    last: Leaf
    """Whether it is the last of its step."""
    round: Leaf
    """The number of its step."""
    count: Leaf
    """How many results are real (an array of one number)."""


class Progress(NamedTuple):
    """What is carried from result to result."""

    state: State
    tally: Tally
    """Of the step that is open."""
    steps: jax.Array
    """How many are closed."""
    broadcasts: Message


def make_stale(visit: Visit) -> Callable[..., tuple[State, Message, Memory, PyTree]]:
    """Some steps, as every device runs them: `(state, sent, rows, plan, memory, order, key) -> (state,
    broadcasts, memory, report)`."""
    server, (algorithm, task, _) = visit.server, visit.server
    walk = make_walk(visit, keep=True, summed=False)

    def steps(
        state: State, sent: Message, rows: Samples, plan: Plan, memory: Memory, order: Order, key: jax.Array
    ) -> tuple[State, Message, Memory, PyTree]:
        done = walk(sent, rows, plan, memory, key)
        results = in_cohort_order((done.kept, sent, done.report["accepted"]), order.slot)

        def take(i: jax.Array, now: Progress) -> Progress:
            kept, start, accepted = pytrees.row(results, i)
            tally = now.tally.add(kept.upload, start, kept.weight, kept.importance, accepted)
            now = now._replace(tally=tally)
            return lax.cond(order.last[i], lambda n: close(n, order.round[i]), lambda n: n, now)

        def close(now: Progress, round: jax.Array) -> Progress:
            new, _ = server_step(server, now.state, ClientReplies(now.tally), None, round)
            broadcasts = set_row(now.broadcasts, now.steps, algorithm.broadcast(task, new))
            return Progress(new, nothing(), now.steps + 1, broadcasts)

        def nothing() -> Tally:
            kept, start, _ = pytrees.row(results, 0)
            return empty_tally(kept.upload, start, algorithm.needs.importance_sum)

        shapes = jax.eval_shape(lambda s: algorithm.broadcast(task, s), state)
        first = Progress(state, nothing(), jnp.zeros((), jnp.int32), zeros(shapes, len(order.slot)))
        end = lax.fori_loop(0, order.count[0], take, first)
        return end.state, end.broadcasts, done.memory, done.report

    return steps


@rated_program
def stale_program(
    visit: Visit, mesh: Mesh, gathered: bool
) -> Callable[..., tuple[State, Message, Memory, PyTree]]:
    """Compile some steps in a row."""
    rows = PER_DEVICE if gathered else REPLICATED
    given = (REPLICATED, PER_DEVICE, rows, PER_DEVICE, PER_DEVICE, REPLICATED, REPLICATED)
    return compile_program(make_stale, visit, mesh, given, (REPLICATED, REPLICATED, PER_DEVICE, PER_DEVICE))


def in_order(ends: Int64s, numbers: Int64s, layout: Layout) -> Order:
    """The order in which the server takes results, padded to one of a few lengths; `ends` are where steps
    end, `numbers` each result's step."""
    count = len(numbers)
    last = np.zeros(count, bool)
    last[ends - 1] = True
    room = (0, power_of_two(count) - count)
    return Order(
        np.pad(layout.slot_of_client.astype(np.int32), room),
        np.pad(last, room),
        np.pad(numbers.astype(np.int32), room),
        np.array([count], np.int32),
    )
