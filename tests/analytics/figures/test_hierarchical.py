"""Do figures of hierarchical models show every device, its interval and the mean of all?"""

import numpy as np
import pytest

from tests.analytics.hierarchical.designs import drawn_from_a_population
from unalike.analytics.figures.estimates import forest
from unalike.analytics.figures.hierarchical import caterpillar, shrinkage
from unalike.analytics.hierarchical import HM2


@pytest.fixture(scope="module")
def fitted():
    design, _ = drawn_from_a_population(6, (1.0, -1.0), (0.3, 0.3), rows=12)
    return HM2(rounds=8).fit(design)


def test_a_caterpillar_has_devices_in_order_with_intervals_around_them(fitted):
    axes = caterpillar(fitted, "x2").axes[0]
    middles = axes.collections[1].get_offsets()[:, 0]
    assert len(middles) == 6
    assert (np.diff(middles) >= 0).all()
    for middle, line in zip(middles, axes.collections[0].get_segments(), strict=True):
        assert line[0][0] < middle < line[1][0]


def test_shrinkage_moves_devices_towards_the_mean(fitted):
    axes = shrinkage(fitted, "x1").axes[0]
    alone, together = (points.get_offsets()[:, 0] for points in axes.collections)
    assert np.std(together) < np.std(alone)


def test_a_forest_names_its_rows():
    axes = forest([0.0, 1.0], [[-1, 1], [0, 2]], ["one", "two"], "title").axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["one", "two"]
