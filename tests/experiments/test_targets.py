"""Is what it takes to reach a target counted up to the evaluation that reached it?"""

import numpy as np
import pytest

from unalike import ConfigError, load
from unalike.experiments.build import make_task
from unalike.experiments.config import Experiment
from unalike.experiments.targets import check_target, has_clock, read_target, to_target

COLUMNS = {
    "round": np.arange(5),
    "test_accuracy": np.array([0.1, np.nan, 0.5, 0.8, 0.7]),
    "test_loss": np.array([2.0, np.nan, 1.0, 0.5, 0.6]),
    "bytes_up": np.array([np.nan, 1.0, 2.0, 3.0, 4.0]),
    "bytes_down": np.array([np.nan, 10.0, 10.0, 10.0, 10.0]),
    "clock": np.array([np.nan, 0.5, 1.0, 1.5, 2.0]),
}


@pytest.mark.parametrize(
    ("words", "rounds", "sent", "time"),
    [("accuracy=0.5", 2, 23, 1.0), ("test_accuracy:0.6", 3, 36, 1.5), ("loss=1", 2, 23, 1.0)],
)
def test_everything_before_the_target_counts(words, rounds, sent, time):
    found = to_target(COLUMNS, read_target(words))
    assert list(found.values()) == [1.0, rounds, sent, time]


def test_a_harder_target_never_takes_less():
    taken = [
        to_target(COLUMNS, read_target(f"accuracy={share}"))["rounds_to_target"] for share in (0, 0.4, 0.8)
    ]
    assert taken == sorted(taken)


def test_what_is_never_reached_is_not_a_number():
    found = to_target(COLUMNS, read_target("accuracy=0.9"))
    assert found.pop("reached_target") == 0
    assert all(np.isnan(value) for value in found.values())


@pytest.mark.parametrize("words", ["accuracy", "accuracy=high", "=0.9", "accuracy=0.9,5", ""])
def test_other_words_are_refused_with_an_example(words):
    with pytest.raises(ConfigError, match=r"such as accuracy=0\.9"):
        read_target(words)


def test_a_target_that_nobody_measures_is_refused():
    task = make_task(Experiment(model="linear"), load("digits", clients=3))
    check_target(read_target("accuracy=0.5"), task)
    with pytest.raises(ConfigError, match="test_acuracy"):
        check_target(read_target("acuracy=0.5"), task)
    with pytest.raises(ConfigError, match=r"a share between 0 and 1, and cannot reach 2"):
        check_target(read_target("accuracy=2"), task)


def test_time_is_worth_a_column_where_it_is_not_the_number_of_rounds():
    assert has_clock(COLUMNS)
    assert not has_clock({"round": np.arange(3), "clock": np.array([np.nan, 1.0, 2.0])})
