"""Does a synchronous server always start from the newest model, also after a resume?"""

from itertools import islice

import numpy as np
import pytest

from unalike.participation import Cohort
from unalike.timing import Synchronous, Timing, timing_registry


def draw(number):
    return Cohort(np.array([number, number + 1]), np.array([0.25, 0.75]))


def test_step_r_starts_from_version_r_and_frees_it():
    for number, step in enumerate(islice(Synchronous().steps(draw, 0), 5)):
        assert step.number == number
        assert step.versions.tolist() == [number, number]
        assert step.clients.tolist() == [number, number + 1]
        assert step.weights.tolist() == [0.25, 0.75]
        assert step.done_with.tolist() == [number]
        assert step.time == number + 1


def test_going_on_from_a_step_gives_the_same_steps():
    whole = list(islice(Synchronous().steps(draw, 0), 6))[3:]
    for a, b in zip(whole, islice(Synchronous().steps(draw, 3), 3), strict=True):
        assert (a.number, a.time, a.done_with.tolist()) == (b.number, b.time, b.done_with.tolist())
        assert np.array_equal(a.versions, b.versions)
        assert np.array_equal(a.clients, b.clients)


def test_cohorts_are_drawn_only_when_they_are_needed():
    asked = []

    def noted(number):
        asked.append(number)
        return draw(number)

    list(islice(Synchronous().steps(noted, 2), 3))
    assert asked == [2, 3, 4]


def test_an_empty_cohort_is_a_step_without_clients():
    nobody = Cohort(np.zeros(0, np.int64), np.zeros(0))
    (step,) = islice(Synchronous().steps(lambda number: nobody, 0), 1)
    assert len(step.clients) == len(step.versions) == 0


def test_timings_are_made_by_name():
    assert timing_registry.make("synchronous") == Synchronous()
    with pytest.raises(NotImplementedError):
        Timing().steps(draw, 0)
