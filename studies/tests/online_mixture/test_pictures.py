"""Are images dealt as the game says?"""

import numpy as np

from unalike_studies.online_mixture.images import deal
from unalike_studies.online_mixture.labels import GROUPS

GROUP = np.repeat(np.arange(4), GROUPS)


def test_every_image_is_of_a_group_that_the_client_draws_from():
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=400)
    weights = np.tile(np.eye(4)[[0, 2]], (5, 1, 1))
    dealt, passes = deal(labels, weights, 3, rng)
    assert dealt.shape == (5, 2, 3)
    assert (GROUP[labels[dealt[:, 0]]] == 0).all()
    assert (GROUP[labels[dealt[:, 1]]] == 2).all()
    assert passes.tolist() == [0, 0, 0, 0]
    assert len(np.unique(dealt)) == dealt.size


def test_a_group_that_is_used_up_is_dealt_again_in_another_order_and_that_is_counted():
    labels = np.arange(10)  # three images of the first group
    weights = np.tile(np.eye(4)[:1], (4, 1, 1))
    dealt, passes = deal(labels, weights, 3, np.random.default_rng(1))
    assert passes.tolist() == [3, 0, 0, 0]
    assert (np.sort(dealt[:, 0], axis=1) == np.arange(3)).all()
    assert len({tuple(order) for order in dealt[:, 0].tolist()}) > 1


def test_shares_of_groups_follow_the_weights():
    rng = np.random.default_rng(2)
    labels = rng.integers(10, size=5000)
    weights = np.tile([0.5, 0.1, 0.1, 0.3], (100, 4, 1))
    dealt, _ = deal(labels, weights, 6, rng)
    shares = np.bincount(GROUP[labels[dealt]].ravel(), minlength=4) / dealt.size
    np.testing.assert_allclose(shares, [0.5, 0.1, 0.1, 0.3], atol=0.05)
