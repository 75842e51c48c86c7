"""Is the rate chosen for identical weights, and are pictures halved?"""

from types import SimpleNamespace

import numpy as np
import pytest

from unalike.theory.asynchrony.objective import Surrogate
from unalike_studies.asynchrony import published
from unalike_studies.asynchrony.data import Pair, halve_images

LOSSES = {0.1: (2.0, 0.5), 0.2: (1.0, 1.5)}
"""Of identical and of corrected weights, by learning rate."""


def test_the_rate_is_the_best_for_identical_weights(monkeypatch):
    one = np.ones(1)

    def pair(problem, rate, until, seed):
        identical, corrected = LOSSES[rate]
        return Pair(identical * one, (corrected + seed) * one, Surrogate(one, one))

    def losses_at(problem, timing, rate, until, seed):
        return LOSSES[rate][timing.weights != "identical"] * one

    monkeypatch.setattr(published, "pair", pair)
    monkeypatch.setattr(published, "losses_at", losses_at)
    problem = SimpleNamespace(federation=SimpleNamespace(importance=one))
    rate, found = published.pairs_of(lambda seed: problem, 3, 1.0, tuple(LOSSES))
    assert rate == 0.2
    assert [float(one.identical[0]) for one in found] == [1.0, 1.0, 1.0]
    assert [float(one.corrected[0]) for one in found] == [1.5, 2.5, 3.5]


def test_squares_of_pixels_become_their_mean():
    image = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1)
    assert halve_images(image)[0, :, :, 0].tolist() == [[2, 4], [10, 12]]


@pytest.mark.parametrize(
    ("unlike", "iid", "holds"), [(0.02, 0.01, True), (0.005, 0.01, False), (-0.02, -0.01, False)]
)
def test_a_gain_that_is_not_twice_as_large_is_printed_as_such(unlike, iid, holds):
    assert published.gap_claim(unlike, iid, "").holds == holds
