"""Are policies and pairs of runs what their names in tables say?"""

import numpy as np
import pytest

from unalike.reproduce.asynchrony import data
from unalike.theory.asynchrony.objective import Surrogate
from unalike.timing import Asynchronous, FedBuff, FedFix, WaitForAll


def test_policies_are_made_by_their_names_in_tables():
    made = [data.policy(name) for name in ("wait-for-all", "async", "FedFix-0.2", "FedBuff-10")]
    assert [type(timing) for timing in made] == [WaitForAll, Asynchronous, FedFix, FedBuff]
    assert (made[2].window, made[3].buffer) == (0.2, 10)


def test_a_pair_is_compared_on_both_objectives():
    minimized = Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    pair = data.Pair(np.array([0.1, 0.9]), np.array([0.3, 0.5]), minimized)
    assert pair.gap == pytest.approx(0.1)
    assert pair.orders == (True, True, True)
    assert data.Pair(pair.corrected, pair.identical, minimized).orders == (False, False, False)
