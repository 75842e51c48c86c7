"""Is the rate chosen for identical weights, and are pictures halved?"""

import numpy as np
import pytest

from unalike.reproduce.asynchrony import published
from unalike.reproduce.asynchrony.data import Pair, halved
from unalike.theory.asynchrony.objective import Surrogate

LOSSES = {0.1: (2.0, 0.5), 0.2: (1.0, 1.5)}
"""Of identical and of corrected weights, by learning rate."""


def test_the_rate_is_the_best_for_identical_weights(monkeypatch):
    def pair(lesson, rate, until, seed):
        identical, corrected = LOSSES[rate]
        one = np.ones(1)
        return Pair(identical * one, (corrected + seed) * one, Surrogate(one, one))

    monkeypatch.setattr(published, "pair", pair)
    found = published.pairs_of(lambda seed: None, 3, rates=tuple(LOSSES))
    assert [float(one.identical[0]) for one in found] == [1.0, 1.0, 1.0]
    assert [float(one.corrected[0]) for one in found] == [1.5, 2.5, 3.5]


def test_squares_of_pixels_become_their_mean():
    image = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1)
    assert halved(image)[0, :, :, 0].tolist() == [[2, 4], [10, 12]]


@pytest.mark.parametrize(("unlike", "holds"), [(0.02, True), (0.005, False)])
def test_a_gain_that_is_not_twice_as_large_is_printed_as_such(unlike, holds):
    assert published.gap_claim(unlike, 0.01, "").holds == holds
