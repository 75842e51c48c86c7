"""Does a memory live through a change of data as its policy says, and is capacity shared out as asked?"""

import jax
import numpy as np
import pytest

from unalike.data import Federation, Split
from unalike.errors import ConfigError
from unalike.memorization import Rule, memorize
from unalike.models import Task, linear
from unalike_studies.knnper.shift import drift, live, unequal_capacities, unequal_hardware
from unalike_studies.theory.memorization_bound import Bound


def one_sided(flip, rows=(8, 16), seed=0):
    """Two clients whose label is the sign of x, or its opposite."""
    rng = np.random.default_rng(seed)

    def part(sizes):
        x = rng.choice([-1.0, 1.0], (sum(sizes), 1)).astype(np.float32) + 0.01 * rng.random((sum(sizes), 1))
        y = ((x[:, 0] > 0) ^ flip).astype(np.int32)
        return Split(x.astype(np.float32), y, np.r_[0, np.cumsum(sizes)])

    return Federation(part(rows), part([0, 0]), part([6, 6]), 2)


@pytest.fixture(scope="module")
def task():
    return Task.classification(linear(input_shape=(1,), outputs=2), 2)


@pytest.fixture(scope="module")
def drifting(task):
    params = task.init(jax.random.key(0))
    return drift((task, params), one_sided(False), one_sided(True, (8, 16), 1), steps=8, shift_at=4)


def test_half_of_the_first_rows_fill_the_store_and_every_other_row_arrives_once(drifting):
    assert [len(life.store) for life in drifting.lives] == [4, 8]
    for life in drifting.lives:
        assert len(life.batches) == 8
        assert sum(len(batch.keys) for batch in life.batches[:4]) == len(life.store)
        assert sum(len(batch.keys) for batch in life.batches[4:]) == 2 * len(life.store)


def test_the_larger_law_comes_second(task):
    params = task.init(jax.random.key(0))
    found = drift(
        (task, params), one_sided(False, (8, 30)), one_sided(True, (10, 16), 1), steps=4, shift_at=2
    )
    assert [sum(len(b.keys) for b in life.batches[2:]) for life in found.lives] == [10, 30]


def test_policies_live_through_a_flip_of_labels(drifting):
    rule = Rule(k=1)
    fixed, fifo, concat = (live(drifting, name, share=1.0, rule=rule) for name in ("fixed", "fifo", "concat"))
    assert (fixed[:4] == 1).all()
    assert (fixed[4:] < 0.5).all()
    assert fifo[-1] == 1  # every old row is gone: the new ones are twice as many as there are places
    assert (fifo[:4] == 1).all()
    assert fifo[-1] >= concat[-1]


def test_only_the_steps_that_are_asked_for_are_measured(drifting):
    curve = live(drifting, "fifo", evaluate_at=(0, 7))
    assert np.flatnonzero(~np.isnan(curve)).tolist() == [0, 7]


def test_a_drift_needs_a_time_and_the_same_clients(task):
    params = task.init(jax.random.key(0))
    with pytest.raises(ConfigError, match="same clients twice"):
        drift((task, params), one_sided(False), one_sided(True), steps=4, shift_at=4)


def test_unequal_capacities_keep_the_total():
    for gap in (0.0, 0.2, 0.5):
        assert unequal_capacities(10, gap).sum() == pytest.approx(5)
    with pytest.raises(ConfigError, match=r"from 0 to 0\.5"):
        unequal_capacities(4, 0.6)


def test_equal_hardware_is_half_a_memory(task):
    memory = memorize((task, task.init(jax.random.key(0))), one_sided(False), k=1)
    assert unequal_hardware(memory, (0.0,)).tolist() == [1.0]


# The bound.


def bound(**changes):
    options = {"own_rows": 500, "all_rows": 20_000, "dimension": 2, "complexity": 30, "discrepancy": 0.3}
    return Bound(**{**options, **changes})


@pytest.mark.parametrize("complexity", [1, 3, 30])
def test_the_bound_is_the_published_formula(complexity):
    """With delta_2 = max(16 / d, 1): the printed 4 / sqrt(d) is too small for d below 16."""
    b = bound(best_loss=0.05, gamma1=0.5, gamma2=0.2, complexity=complexity)
    r = 2**0.5 / 500 ** (1 / 3)
    share_of_rows = complexity / 20_000
    estimation = (share_of_rows * (max(16 / complexity, 1) - np.log(share_of_rows))) ** 0.5
    for share in (0.0, 0.3, 1.0):
        expected = (
            (1 + share) * 0.05
            + 2 * (1 - share) * 0.3
            + max(12 * 0.2, 6 * 0.5) * share * r * 1.3
            + 4 * (1 - share) * estimation
            + 6 * 0.2 * 4 * share * r * estimation
        )
        assert b.at(share) == pytest.approx(expected)


def test_from_enough_rows_on_memory_is_preferred():
    rows = bound().enough_rows
    assert bound(own_rows=int(rows * 0.99)).preferred == 0
    assert bound(own_rows=int(rows * 1.01)).preferred == 1
    assert bound(discrepancy=0.6).enough_rows < rows
    assert bound(dimension=1280).enough_rows == np.inf
    assert bound(best_loss=9.0).enough_rows == np.inf


def test_long_keys_make_the_bound_say_nothing():
    assert bound(own_rows=250, dimension=1280).radius == pytest.approx(35.6, abs=0.05)


@pytest.mark.parametrize("change", [{"own_rows": 0}, {"complexity": 0}, {"gamma1": -1}, {"dimension": 0}])
def test_the_bound_refuses_what_makes_no_sense(change):
    with pytest.raises(ConfigError, match="bound"):
        bound(**change)
