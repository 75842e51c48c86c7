"""Do the clients that remain keep their numbers, and does nobody else take part?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import Full, Remaining, Renormalized, RoundContext

IMPORTANCE = np.arange(1, 11) / 55


def test_everyone_who_remains_takes_part_by_importance():
    cohort = Remaining(Full(), [0, 9]).cohort(RoundContext(0, IMPORTANCE))
    np.testing.assert_array_equal(cohort.clients, np.arange(1, 9))
    np.testing.assert_allclose(cohort.weights, IMPORTANCE[1:9] / IMPORTANCE[1:9].sum())


def test_nobody_else_is_ever_drawn_and_weights_sum_to_one():
    who = Remaining(Renormalized(per_round=3), [2, 5])
    for number in range(50):
        cohort = who.cohort(RoundContext(number, IMPORTANCE, seed=1))
        assert not {2, 5} & set(cohort.clients.tolist())
        assert len(cohort.clients) == 3
        assert cohort.weights.sum() == pytest.approx(1)


def test_where_fewer_remain_than_were_drawn_all_of_them_are():
    who = Remaining(Renormalized(per_round=4), list(range(7)))
    assert who.cohort(RoundContext(0, IMPORTANCE)).clients.tolist() == [7, 8, 9]


def test_somebody_must_remain():
    with pytest.raises(ConfigError, match="nobody is left"):
        Remaining(Full(), [0, 1]).check(2, 1)
