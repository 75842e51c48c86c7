"""Do steps go to the engine together exactly when none of them needs another's result?"""

import numpy as np
import pytest

from unalike.engine import BlockLimits
from unalike.timing import (
    Asynchronous,
    Clients,
    Deadline,
    FedBuff,
    FedFix,
    FixedTimes,
    Step,
    Synchronous,
    WaitForAll,
    plan_schedule,
)
from unalike.training.blocks import GroupSteps

NEVER = lambda done: False  # noqa: E731
EIGHT = Clients(np.full(8, 1 / 8))
HARDWARE = FixedTimes(["1", "0.9", "0.8", "0.7", "0.45", "0.4", "0.3", "0.2"])


def step(number, clients, versions=None):
    versions = [number] * len(clients) if versions is None else versions
    return Step(number, np.array(clients, np.int64), np.array(versions, np.int64), np.ones(len(clients)))


def numbers(blocks):
    return [[step.number for step in block.steps] for block in blocks]


def grouped(rounds=1, clients=256, due=NEVER):
    return GroupSteps(BlockLimits(rounds, clients), due)


def stale_blocks(steps, room=256, due=NEVER, first=0):
    """The blocks of a loop that takes each before it asks for the next."""
    blocks, done = [], [first]
    for block in grouped(clients=room, due=due).stale(iter(steps), lambda: done[0]):
        blocks.append(block)
        done[0] = block.after
    return blocks


# ------------------------------------------------------------------------------- synchronous rounds


def rounds(count, empty=()):
    return [step(n, [] if n in empty else [0, 1]) for n in range(count)]


def test_rounds_come_by_so_many_and_the_rest_at_the_end():
    assert numbers(grouped(rounds=3, due=NEVER).fresh(iter(rounds(7)))) == [[0, 1, 2], [3, 4, 5], [6]]
    assert numbers(grouped(rounds=1, due=NEVER).fresh(iter(rounds(3)))) == [[0], [1], [2]]


def test_a_block_of_rounds_ends_where_something_is_due():
    due = lambda done: done % 4 == 0  # noqa: E731
    assert numbers(grouped(rounds=3, due=due).fresh(iter(rounds(9)))) == [[0, 1, 2], [3], [4, 5, 6], [7], [8]]


def test_a_round_without_clients_comes_alone():
    found = numbers(grouped(rounds=3, due=NEVER).fresh(iter(rounds(7, empty=(2, 3)))))
    assert found == [[0, 1], [2], [3], [4, 5, 6]]


# -------------------------------------------------------------------------------------- stale steps


def test_steps_join_while_their_models_are_there():
    steps = [
        step(0, [0], [0]),  # fresh, so alone
        step(1, [1], [0]),
        step(2, [2], [1]),
        step(3, [3], [0]),
        step(4, [1], [2]),  # version 2 is made by step 1
        step(5, [2], [3]),
    ]
    assert numbers(stale_blocks(steps)) == [[0], [1, 2, 3], [4, 5]]


def test_steps_do_not_join_beyond_the_room_but_a_large_step_is_not_refused():
    steps = [step(n, range(3 * n, 3 * n + 3), [0, 0, 0]) for n in range(1, 6)]
    assert numbers(stale_blocks(steps, room=7, first=1)) == [[1, 2], [3, 4], [5]]
    assert numbers(stale_blocks(steps, room=6, first=1)) == [[1, 2], [3, 4], [5]]
    assert numbers(stale_blocks(steps, room=1, first=1)) == [[1], [2], [3], [4], [5]]


def test_empty_and_fresh_steps_come_alone():
    steps = [step(1, [0], [0]), step(2, []), step(3, [1], [0]), step(4, [2, 3]), step(5, [4], [1])]
    assert numbers(stale_blocks(steps, first=1)) == [[1], [2], [3], [4], [5]]


def test_what_is_due_ends_a_block():
    steps = [step(n, [n], [0]) for n in range(1, 9)]
    assert numbers(stale_blocks(steps, due=lambda done: done % 3 == 0, first=1)) == [
        [1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]


def test_a_step_that_waits_for_its_block_is_held():
    """A step that does not join has been taken from the timing, whose state is therefore one step ahead."""
    steps = [step(1, [0], [0]), step(2, [1], [0]), step(3, [2], [2]), step(4, [3], [3])]
    blocks, done, held = grouped(), [1], []
    for block in blocks.stale(iter(steps), lambda: done[0]):
        held.append(blocks.has_pending_step)
        done[0] = block.after
    assert held == [True, False]


def test_a_hurried_loop_gets_single_steps_and_holds_none():
    steps = [step(n, [n], [0]) for n in range(1, 5)]
    blocks = grouped()
    blocks.finish_soon = True
    taken = []
    for block in blocks.stale(iter(steps), lambda: 1):
        taken.append(len(block.steps))
        assert not blocks.has_pending_step
    assert taken == [1, 1, 1, 1]


def test_no_step_is_taken_from_the_timing_before_it_is_needed():
    """After a block that something is due after, or that is full, the timing has not moved on."""
    asked = []

    def steps():
        for number in range(1, 9):
            asked.append(number)
            yield step(number, [number], [0])

    blocks = grouped(due=lambda done: done == 4).stale(steps(), lambda: 1)
    assert numbers([next(blocks)]) == [[1, 2, 3]]
    assert asked == [1, 2, 3]


POLICIES = [
    Asynchronous(hardware=HARDWARE),
    FedFix(0.25, hardware=HARDWARE),
    FedBuff(3, hardware=HARDWARE),
    Deadline(0.5, "keep", hardware=HARDWARE),
    WaitForAll(hardware=HARDWARE),
    Asynchronous(hardware="exponential"),
    Asynchronous(),
    Synchronous(),
]


@pytest.mark.parametrize("room", [1, 4, 256])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("every", [0, 7])
def test_blocks_of_every_policy_are_right_and_as_long_as_they_can_be(policy, room, every):
    steps = plan_schedule(policy, EIGHT, steps=150).steps
    due = lambda done: every > 0 and done % every == 0  # noqa: E731
    blocks = [block.steps for block in stale_blocks(steps, room, due)]
    assert [step for block in blocks for step in block] == steps
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        first, many = block[0].number, len(block) > 1
        clients = np.concatenate([step.clients for step in block])
        assert len(np.unique(clients)) == len(clients)
        assert all((step.versions <= first).all() for step in block)
        assert not many or len(clients) <= room
        assert not many or not any(step.fresh or not len(step.clients) for step in block)
        assert not any(due(step.number + 1) for step in block[:-1])
        if after is None or due(block[-1].number + 1) or block[0].fresh:
            continue
        needs = after[0].versions.max(initial=-1) > first
        full = len(clients) + len(after[0].clients) > room or len(clients) >= room
        assert needs or full or after[0].fresh


def test_a_client_with_two_jobs_under_way_is_not_in_a_block_twice():
    """A timing of one's own may let clients work ahead, from the version before the newest."""
    steps = [step(n, [0], [max(n - 1, 0)]) for n in range(6)]
    for block in stale_blocks(steps):
        clients = np.concatenate([step.clients for step in block.steps])
        assert len(np.unique(clients)) == len(clients)
