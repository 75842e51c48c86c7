"""Is every client dealt to exactly one core, and do all cores finish at about the same time?"""

from itertools import product

import numpy as np
import pytest

from unalike.engine.local.layout import assign_to_cores

JOBS = {
    "none": [],
    "one": [4],
    "equal": [3] * 7,
    "zeros": [0] * 5,
    "one giant": [50, 1, 1, 1, 2],
    "mixed": [9, 1, 0, 4, 4, 7, 2, 2, 30, 5],
}


def loads(work, layout, cores):
    """What each core has to do; every client costs one more than its steps, for being visited."""
    width = len(layout.place) // cores
    return [
        sum(work[i] + 1 for i in layout.place[core * width : core * width + layout.taken[core]])
        for core in range(cores)
    ]


def best_makespan(work, cores):
    """By trying all assignments."""
    owners = np.array(list(product(range(cores), repeat=len(work))))
    return min(
        max(sum(w + 1 for w, o in zip(work, owner, strict=True) if o == core) for core in range(cores))
        for owner in owners
    )


@pytest.mark.parametrize("cores", [1, 2, 3, 5])
@pytest.mark.parametrize("jobs", JOBS)
def test_every_client_has_exactly_one_place(jobs, cores):
    work = np.array(JOBS[jobs], np.int64)
    layout = assign_to_cores(work, cores)
    width = len(layout.place) // cores
    taken = [
        int(i)
        for core in range(cores)
        for i in layout.place[core * width : core * width + layout.taken[core]]
    ]
    assert sorted(taken) == list(range(len(work)))
    assert layout.taken.sum() == len(work)
    assert len(layout.taken) == cores
    assert np.array_equal(layout.place[layout.slot_of_client], np.arange(len(work)))


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("jobs", [name for name in JOBS if name != "none"])
def test_collecting_undoes_arranging(jobs, cores):
    work = np.array(JOBS[jobs], np.int64)
    layout = assign_to_cores(work, cores)
    values = np.random.default_rng(0).normal(size=(len(work), 2))
    assert np.array_equal(layout.collect(layout.arrange(values)), values)


@pytest.mark.parametrize("cores", [2, 3])
def test_the_makespan_is_within_grahams_bound_of_the_best_assignment(cores):
    rng = np.random.default_rng(cores)
    for _ in range(12):
        work = rng.integers(0, 20, rng.integers(2, 7))
        if len(np.unique(work)) == 1:
            continue
        found = max(loads(work, assign_to_cores(work, cores), cores))
        assert found <= (4 / 3 - 1 / (3 * cores)) * best_makespan(work, cores) + 1e-9


@pytest.mark.parametrize("cores", [2, 4, 7])
def test_a_large_cohort_is_within_four_thirds_of_the_lower_bound(cores):
    rng = np.random.default_rng(cores)
    for work in (rng.integers(1, 50, 60), rng.geometric(0.02, 60), np.r_[np.full(59, 3), 1000]):
        found = loads(work, assign_to_cores(work, cores), cores)
        bound = max((work + 1).sum() / cores, (work + 1).max())
        assert sum(found) == (work + 1).sum()
        assert max(found) <= 4 / 3 * bound


def test_equal_jobs_are_dealt_evenly():
    assert assign_to_cores(np.full(7, 3), 3).taken.tolist() == [3, 2, 2]


def test_dealing_is_deterministic():
    work = np.random.default_rng(0).integers(0, 9, 40)
    one, two = assign_to_cores(work, 3), assign_to_cores(work, 3)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
