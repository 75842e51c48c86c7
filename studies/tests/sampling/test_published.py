"""Are schemes compared run by run, and orders those that were published?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike_studies.sampling import data
from unalike_studies.sampling.data import Curve, clouds, learn
from unalike_studies.sampling.published import ORDERS, SCHEMES, end_ratios
from unalike_studies.trainings import Trainings


def curve(end):
    return Curve(np.full(6, end), np.ones(6))


def test_ratios_are_those_of_the_same_run():
    assert end_ratios([curve(1.0), curve(3.0)], [curve(2.0), curve(3.0)]).tolist() == [0.5, 1.0]


def test_uniform_and_md_change_places_with_importance():
    assert ("uniform", "md") in ORDERS["equal"]
    assert ("md", "uniform") in ORDERS["data"]
    assert {name for pairs in ORDERS.values() for pair in pairs for name in pair} == set(SCHEMES)


def test_a_curve_that_is_kept_is_not_trained_again(tmp_path, monkeypatch):
    def problem():
        return replace(clouds(3, None, 0, 2), trainings=Trainings(tmp_path / "sampling.jsonl"))

    found = learn(problem(), "md", 2, 0)
    monkeypatch.setattr(data, "train", pytest.fail)
    again = learn(problem(), "md", 2, 0)
    np.testing.assert_array_equal(again.losses, found.losses)
    np.testing.assert_array_equal(again.classes, found.classes)
    assert (len(found.losses), len(found.classes)) == (2, 2)
