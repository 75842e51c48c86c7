"""Do weights count every client as much as it should, however often it reports?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.timing import ResultWeights, discount_registry

IMPORTANCE = np.array([0.5, 0.3, 0.2])
EVERYONE, NEW = np.arange(3), np.zeros(3, np.int64)


def test_corrected_weights_times_frequency_are_the_importances():
    rng = np.random.default_rng(0)
    for _ in range(20):
        importance, frequency = rng.dirichlet(np.ones(6)), rng.uniform(0.01, 1, 6)
        weighing = ResultWeights("corrected", importance, np.ones(6), frequency)
        weights = weighing.of(np.arange(6), np.zeros(6, int))
        np.testing.assert_allclose(weights * frequency, importance, rtol=1e-14)


def test_identical_weights_are_those_that_were_given():
    weighing = ResultWeights("identical", IMPORTANCE, np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
    assert weighing.of(np.array([2, 0]), NEW[:2]).tolist() == [3, 1]


def test_a_client_that_never_reports_weighs_nothing_when_it_does():
    weighing = ResultWeights("corrected", IMPORTANCE, np.ones(3), np.array([1.0, 0.5, 0.0]))
    assert weighing.of(EVERYONE, NEW).tolist() == [0.5, 0.6, 0]


@pytest.mark.parametrize("mode", ["corrected", "identical", "online"])
def test_no_weight_is_larger_than_the_largest(mode):
    weighing = ResultWeights(mode, IMPORTANCE, np.full(3, 9.0), np.full(3, 0.01), largest=0.8)
    for _ in range(50):
        assert weighing.of(EVERYONE, NEW).max() <= 0.8
        weighing.saw(np.zeros(0, np.int64))


def test_online_weights_are_the_importances_over_the_share_of_steps_so_far():
    rng = np.random.default_rng(1)
    weighing, reports = ResultWeights("online", IMPORTANCE, np.ones(3)), np.zeros(3)
    for step in range(1, 200):
        clients = np.flatnonzero(rng.random(3) < [0.9, 0.5, 0.2])
        found = weighing.of(clients, NEW[: len(clients)])
        weighing.saw(clients)
        reports[clients] += 1
        np.testing.assert_allclose(found, IMPORTANCE[clients] * step / reports[clients], rtol=1e-13)
        assert (found >= IMPORTANCE[clients]).all()


def test_online_weights_count_everyone_right_in_the_long_run():
    """The k-th report weighs p n_k / k, so errors die out like the logarithm of the steps over the steps."""
    rng, chance = np.random.default_rng(2), np.array([0.9, 0.5, 0.2])
    weighing, total = ResultWeights("online", IMPORTANCE, np.ones(3)), np.zeros(3)
    for _ in range(20_000):
        clients = np.flatnonzero(rng.random(3) < chance)
        total[clients] += weighing.of(clients, NEW[: len(clients)])
        weighing.saw(clients)
    np.testing.assert_allclose(total / 20_000, IMPORTANCE, rtol=0.05)


def test_what_was_learnt_survives_being_saved():
    first, again = (ResultWeights("online", IMPORTANCE, np.ones(3)) for _ in range(2))
    for step in range(10):
        first.saw(np.array([step % 3]))
    first.saw(np.array([0]))
    state = first.state()
    again.restore(state)
    first.saw(EVERYONE)  # the state must not follow
    again.saw(EVERYONE)
    assert np.array_equal(first.of(EVERYONE, NEW), again.of(EVERYONE, NEW))
    assert state["counted"] == 11


def test_old_results_are_discounted():
    ages = np.array([0, 1, 3, 4, 5, 14])
    assert discount_registry.make("constant")(ages).tolist() == [1] * 6
    np.testing.assert_allclose(
        discount_registry.make("polynomial:0.5")(ages), [1, 0.5**0.5, 0.5, 0.2**0.5, 6**-0.5, 15**-0.5]
    )
    np.testing.assert_allclose(
        discount_registry.make("polynomial")(ages), discount_registry.make("polynomial:0.5")(ages)
    )
    np.testing.assert_allclose(discount_registry.make("hinge:10,4")(ages), [1, 1, 1, 1, 1 / 11, 1 / 101])
    assert discount_registry.make("polynomial:2")(np.array([1])).tolist() == [0.25]
    for name in ("constant", "polynomial", "hinge"):
        assert discount_registry.make(name)(np.array([0])).tolist() == [1]


def test_a_discount_multiplies_whatever_the_weight_is():
    weighing = ResultWeights("corrected", IMPORTANCE, np.ones(3), np.ones(3), "polynomial:1")
    np.testing.assert_allclose(weighing.of(EVERYONE, np.array([0, 1, 3])), [0.5, 0.15, 0.05])


def test_mistakes_are_explained():
    with pytest.raises(
        ConfigError, match=r"unknown weights 'onlin'; did you mean 'online'\? Allowed: corrected"
    ):
        ResultWeights("onlin", IMPORTANCE, np.ones(3))
    with pytest.raises(ConfigError, match="the largest weight must be positive, but is 0"):
        ResultWeights("identical", IMPORTANCE, np.ones(3), largest=0)
    with pytest.raises(ConfigError, match="use online weights"):
        ResultWeights("corrected", IMPORTANCE, np.ones(3))
    with pytest.raises(ConfigError, match="unknown staleness discount 'linear'"):
        ResultWeights("identical", IMPORTANCE, np.ones(3), discount="linear")
