"""Do signed times say the same as times and events?"""

import numpy as np
import pytest

from unalike.data.survival import signed_times, times_and_events
from unalike.errors import DataError


def test_there_and_back():
    rng = np.random.default_rng(0)
    times, events = rng.exponential(size=50) + 0.01, rng.integers(0, 2, 50)
    back = times_and_events(signed_times(times, events))
    assert (back[0] == times).all()
    assert (back[1] == events).all()


@pytest.mark.parametrize("times", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_times_that_are_none_are_refused(times):
    with pytest.raises(DataError, match="positive numbers"):
        signed_times(times, [1, 0])


def test_events_are_yes_or_no_and_one_for_each_time():
    with pytest.raises(DataError, match="events must be 1"):
        signed_times([1.0], [2])
    with pytest.raises(DataError, match="needs its event"):
        signed_times([1.0, 2.0], [1])
