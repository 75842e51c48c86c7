"""Does advice on free-riders say what the theory says, and what a simulation then shows?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.advice import LocalDescent, advise_free_riders
from unalike.testing import example_federation

WORK = LocalDescent(steps=np.log(2) / 0.1, learning_rate=0.1, batch_size=100)
"""Half of the distance is left after a round."""


def test_the_table_of_slow_downs():
    advice = advise_free_riders([600] * 5, WORK, (1, 5, 45))
    assert advice.fair_contraction == pytest.approx(0.5)
    assert [r.slow_down for r in advice.reports] == pytest.approx([1.29, 2.41, 13.5], rel=5e-3)
    assert [r.share for r in advice.reports] == pytest.approx([1 / 6, 0.5, 0.9])


def test_what_free_riders_claim_is_what_counts():
    by_claim = {
        declared: advise_free_riders([100, 300], WORK, (1,), declared).reports[0].share
        for declared in ("min", "mean", "max", "10x")
    }
    assert by_claim == pytest.approx({"min": 0.2, "mean": 1 / 3, "max": 3 / 7, "10x": 5 / 6})


@pytest.mark.parametrize("learning_rate", [1e-9, 0.02, 0.1, 0.5])
def test_doubling_is_the_fewest_that_double(learning_rate):
    work = LocalDescent(steps=7, learning_rate=learning_rate, batch_size=100)
    doubling = advise_free_riders([600] * 20, work).doubling
    below, at = (r.slow_down for r in advise_free_riders([600] * 20, work, (doubling - 1, doubling)).reports)
    assert below < 2 <= at + 1e-9


def test_nobody_is_no_slow_down_and_both_variances_agree():
    (report,) = advise_free_riders([600] * 5, WORK, (0,)).reports
    assert report.slow_down == pytest.approx(1)
    assert (
        report.variance == pytest.approx(report.printed_variance) == pytest.approx(report.disguised_variance)
    )


def test_the_printed_variance_is_larger_and_said_apart():
    advice = advise_free_riders([600] * 5, WORK, (1, 45)).as_dict()
    for report in advice["reports"]:
        assert report["variance"] < report["printed_variance"]
        assert report["variance"] < report["disguised_variance"]


def test_local_work_is_counted_as_training_counts_it():
    assert LocalDescent(batch_size=16).steps_of([10, 16, 17]).tolist() == [1, 1, 2]
    assert LocalDescent(epochs=3, batch_size=0).steps_of([10, 99]).tolist() == [3, 3]
    assert LocalDescent(steps=4).steps_of([10, 99]).tolist() == [4, 4]


def test_a_federation_without_choice_of_numbers():
    advice = advise_free_riders(example_federation(), parameters=1000)
    assert [r.free_riders for r in advice.reports] == [1, 5, 45]
    assert "within 0.057" in advice.signs[1]
    assert "stands nearly still" in advice.warnings[0]


def test_nonsense_is_refused():
    with pytest.raises(ConfigError, match="honest clients with rows"):
        advise_free_riders([0, 0])
    with pytest.raises(ConfigError, match="numbers from 0 on"):
        advise_free_riders([5], numbers=[-1])
    with pytest.raises(ConfigError, match="unknown declared size"):
        advise_free_riders([5], declared="all")
    with pytest.raises(ConfigError, match="either epochs or steps"):
        LocalDescent(epochs=1, steps=2)
