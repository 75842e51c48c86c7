"""Are the claims on regret computed from what they name?"""

import numpy as np
import pytest

from unalike_studies.online_mixture import training
from unalike_studies.online_mixture.data import Played, World


def played(*regret):
    return Played(np.array(regret), np.zeros((1, 1)), np.ones((1, 1)))


def test_regrets_are_compared_seed_by_seed():
    some, others = [played(1.0, 4.0), played(1.0, 9.0)], [played(1.0, 2.0), played(1.0, 3.0)]
    assert training.over(some, others) == [2, 3]
    assert training.finals(some) == [4, 9]


@pytest.mark.parametrize(("wanted", "holds"), [(5.0, True), (8.0, False)])
def test_a_pilots_number_is_soft_and_no_publication(wanted, holds):
    claim = training.pilot("X", "R", [played(4.0), played(6.0)], wanted)
    assert (claim.holds, claim.hard, claim.published, claim.spread) == (holds, False, None, 1.0)


def test_k_means_starts_near_the_true_means():
    world = World(components=3, dimension=5, clients=30, rows=10)
    found, truth = training._cluster(world, 0), world.means(0)
    assert np.linalg.norm(found[:, None] - truth, axis=-1).min(axis=0).max() < 1
