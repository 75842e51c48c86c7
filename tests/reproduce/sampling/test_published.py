"""Are schemes compared run by run, and orders those that were published?"""

import numpy as np

from unalike.reproduce.sampling.data import Curve
from unalike.reproduce.sampling.published import ORDERS, SCHEMES, end_ratios


def curve(end):
    return Curve(np.full(6, end), np.ones(6))


def test_ratios_are_those_of_the_same_run():
    assert end_ratios([curve(1.0), curve(3.0)], [curve(2.0), curve(3.0)]).tolist() == [0.5, 1.0]


def test_uniform_and_md_change_places_with_importance():
    assert ("uniform", "md") in ORDERS["equal"]
    assert ("md", "uniform") in ORDERS["data"]
    assert {name for pairs in ORDERS.values() for pair in pairs for name in pair} == set(SCHEMES)
