"""Is a round's plan of mini-batches made of whole shuffled passes, whoever else takes part?"""

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.algorithms import LocalWork
from unalike.engine.local.batches import plan_batches, round_up
from unalike.errors import ConfigError

SIZES = np.array([5, 12, 1, 7, 0, 3])
CLIENTS = np.array([40, 2, 17, 99, 3, 8])


def plan(work, sizes=SIZES, clients=CLIENTS, round=0, seed=0, widest=16):
    return plan_batches(work, np.asarray(sizes), np.asarray(clients), round, seed, widest)


def batches_of(planned, client):
    """The real rows of each of a client's mini-batches."""
    steps = planned.positions[client, : planned.steps[client]]
    return [step[step >= 0].tolist() for step in steps]


def passes_of(planned, client, size):
    """A client's rows cut into passes of `size` rows; the last may be cut short."""
    rows = [row for batch in batches_of(planned, client) for row in batch]
    return [rows[i : i + size] for i in range(0, len(rows), size)]


@pytest.mark.parametrize("batch_size", [0, 1, 3, 4, 100])
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_epoch_is_a_permutation_of_the_clients_rows(batch_size, shuffle):
    planned = plan(LocalWork(epochs=3, batch_size=batch_size, shuffle=shuffle))
    for client, size in enumerate(SIZES):
        passes = passes_of(planned, client, size) if size else []
        assert len(passes) == (3 if size else 0)
        for one in passes:
            assert sorted(one) == list(range(size))


@pytest.mark.parametrize("work", [LocalWork(epochs=3, batch_size=4), LocalWork(steps=11, batch_size=4)])
def test_a_batch_never_spans_two_passes(work):
    planned = plan(work)
    for client, size in enumerate(SIZES):
        lengths = [len(batch) for batch in batches_of(planned, client)]
        one_pass = [4] * (size // 4) + ([size % 4] if size % 4 else [])
        assert lengths == (one_pass * 11)[: planned.steps[client]]
        assert all(len(set(batch)) == len(batch) for batch in batches_of(planned, client))


@pytest.mark.parametrize(("epochs", "batch_size"), [(0, 4), (1, 4), (2, 5), (3, 1), (2, 0)])
def test_epochs_are_as_many_batches_as_a_pass_needs_times_the_passes(epochs, batch_size):
    planned = plan(LocalWork(epochs=epochs, batch_size=batch_size))
    width = batch_size or 16
    assert planned.steps.tolist() == [epochs * -(-size // width) for size in SIZES]


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 30])
def test_steps_are_exactly_as_many_for_everyone_who_has_rows(steps):
    planned = plan(LocalWork(steps=steps, batch_size=4))
    assert planned.steps.tolist() == [steps if size else 0 for size in SIZES]


def test_the_default_is_one_epoch():
    one, same = plan(LocalWork()), plan(LocalWork(epochs=1))
    assert np.array_equal(one.positions, same.positions)
    assert np.array_equal(one.steps, same.steps)


def test_a_batch_is_never_larger_than_the_client():
    planned = plan(LocalWork(steps=3, batch_size=10))
    assert [len(batch) for batch in batches_of(planned, 0)] == [5, 5, 5]
    assert [len(batch) for batch in batches_of(planned, 1)] == [10, 2, 10]


def test_all_rows_at_once_is_one_batch_a_pass():
    planned = plan(LocalWork(epochs=2, batch_size=0))
    for client, size in enumerate(SIZES):
        assert [len(batch) for batch in batches_of(planned, client)] == [size] * (2 if size else 0)


def test_a_huge_batch_size_costs_no_more_room_than_the_largest_client():
    assert plan(LocalWork(batch_size=10**9)).positions.shape[-1] == 16


def test_without_shuffling_rows_come_in_order():
    planned = plan(LocalWork(epochs=2, batch_size=5, shuffle=False))
    assert batches_of(planned, 1) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11]] * 2


def test_what_is_not_a_step_is_padding():
    planned = plan(LocalWork(epochs=2, batch_size=4))
    for client, steps in enumerate(planned.steps):
        assert (planned.positions[client, steps:] == -1).all()
        assert (planned.positions[client] < max(SIZES[client], 1)).all()


def test_the_plan_is_a_function_of_seed_round_and_client():
    work = LocalWork(epochs=2, batch_size=4)
    first = plan(work, round=3, seed=9).positions
    assert np.array_equal(first, plan(work, round=3, seed=9).positions)
    for other in (plan(work, round=4, seed=9), plan(work, round=3, seed=10), plan(work, round=2, seed=10)):
        assert not np.array_equal(first[1], other.positions[1])
    moved = plan(work, clients=CLIENTS + 1, round=3, seed=9)
    assert not np.array_equal(first[1], moved.positions[1])


def test_passes_of_one_client_differ():
    one, two = passes_of(plan(LocalWork(epochs=2, batch_size=4)), 1, 12)
    assert one != two


@pytest.mark.parametrize("work", [LocalWork(epochs=2, batch_size=3), LocalWork(steps=5, batch_size=3)])
def test_a_clients_plan_does_not_depend_on_the_rest_of_the_cohort(work):
    together = plan(work)
    for index in range(len(SIZES)):
        alone = plan(work, SIZES[[index]], CLIENTS[[index]])
        assert batches_of(together, index) == batches_of(alone, 0)
    order = np.array([3, 0, 5, 1, 4, 2])
    turned = plan(work, SIZES[order], CLIENTS[order])
    for place, index in enumerate(order):
        assert batches_of(together, index) == batches_of(turned, place)


def test_more_epochs_only_add_passes():
    short, long = (plan(LocalWork(epochs=n, batch_size=4)) for n in (1, 3))
    for index in range(len(SIZES)):
        few = batches_of(short, index)
        assert batches_of(long, index)[: len(few)] == few


@pytest.mark.parametrize("steps", [1, 3, 40, 260])
def test_fewer_steps_are_the_first_of_a_pass_though_not_all_of_it_is_sorted(steps):
    """Whether few or all of a pass is needed, and where one client needs two passes."""
    sizes, clients = np.array([2000, 5, 1500]), np.array([4, 0, 7])
    few = plan(LocalWork(steps=steps, batch_size=8), sizes, clients, round=3, widest=2000).positions
    all_of_it = plan(LocalWork(epochs=300, batch_size=8), sizes[1:2], clients[1:2], round=3).positions
    np.testing.assert_array_equal(few[1, :steps, :5], all_of_it[0, :steps, :5])
    for c in (0, 2):
        whole = plan(LocalWork(epochs=2, batch_size=8), sizes[[c]], clients[[c]], round=3, widest=2000)
        np.testing.assert_array_equal(few[c, :steps], whole.positions[0, :steps])


def test_over_many_rounds_every_row_comes_first_equally_often():
    work, rounds, size = LocalWork(steps=1, batch_size=2), 2000, 7
    first = [plan(work, [size], [5], round=r, seed=1).positions[0, 0, 0] for r in range(rounds)]
    counts = np.bincount(first, minlength=size)
    assert ((counts - rounds / size) ** 2 / (rounds / size)).sum() < chi2.ppf(0.999, size - 1)


def test_over_many_clients_every_order_of_three_rows_is_equally_likely():
    clients = 6000
    planned = plan(LocalWork(batch_size=0), np.full(clients, 3), np.arange(clients), seed=2, widest=3)
    orders = planned.positions[:, 0] @ [9, 3, 1]
    counts = np.unique(orders, return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - clients / 6) ** 2 / (clients / 6)).sum() < chi2.ppf(0.999, 5)


def test_first_rows_of_neighboring_rounds_and_clients_are_independent():
    work, rounds = LocalWork(steps=1, batch_size=1), 800
    first = np.array(
        [plan(work, [4, 4], [0, 1], round=r, seed=3).positions[:, 0, 0] for r in range(rounds)], int
    )
    pairs = {"clients": 4 * first[:, 0] + first[:, 1], "rounds": 4 * first[:-1, 0] + first[1:, 0]}
    for codes in pairs.values():
        counts = np.bincount(codes, minlength=16)
        expected = len(codes) / 16
        assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(0.999, 15)


def test_an_empty_cohort_has_an_empty_plan():
    planned = plan(LocalWork(), np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert planned.positions.shape[0] == len(planned.steps) == 0


def test_clients_without_rows_have_nothing_to_do():
    planned = plan(LocalWork(epochs=2), np.zeros(3, np.int64), np.arange(3))
    assert planned.steps.tolist() == [0, 0, 0]
    assert (planned.positions == -1).all()


def test_rounded_sizes_are_few_never_smaller_and_waste_less_than_a_quarter():
    numbers = np.arange(1, 5000)
    rounded = np.array([round_up(int(n)) for n in numbers])
    assert (np.diff(rounded) >= 0).all()
    assert (rounded >= numbers).all()
    assert ((rounded - numbers) / numbers < 0.25).all()
    assert all(round_up(int(n)) == n for n in np.unique(rounded))
    assert len(np.unique(rounded)) <= 8 + 4 * 10
    assert round_up(0) == 1


def test_a_plan_that_would_fill_the_memory_is_refused_before_it_is_made():
    many = LocalWork(epochs=10**6, batch_size=16)
    with pytest.raises(ConfigError, match="choose fewer epochs, steps or clients"):
        plan_batches(many, np.full(100, 50), np.arange(100), 0, 0, 50)
    long = LocalWork(steps=10**6, batch_size=1000)
    with pytest.raises(ConfigError, match="choose fewer epochs, steps or clients"):
        plan_batches(long, np.full(3, 1000), np.arange(3), 0, 0, 1000)
