"""Do the formulas for a changed network hold in simulated ones, and which of the printed ones do not?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.similarity.altered_network import (
    Alteration,
    homogeneity_variance,
    probability_of_less,
)
from unalike.theory.similarity.simulation import random_weights, simulate_change
from unalike.theory.similarity.spectral_deviation import absolute_deviation_bounds, squared_deviation_bounds

TABLE = [
    (Alteration(10, 6, 0.5, 0.01), (0.790, 0.715), (0.92, 1.47, 8.24), (0.78, 0.97, 119)),
    (Alteration(20, 6, 0.7, 0.005), (0.723, 0.662), (1.39, 2.42, 26.4), (0.95, 1.25, 239)),
    (Alteration(20, 6, 0.7), (0.5, 0.5), (1.03, 2.06, 19.6), (0.81, 1.15, 240)),
    (Alteration(20, 6, 0.7, 0.05, 0.5), (1.0, 1.0), (37.3, 38.6, 709), (6.00, 6.00, 234)),
    (Alteration(50, 6, 0.7, 0.02), (1.0, 1.0), (37.0, 38.0, 1813), (6.00, 6.00, 594)),
]


@pytest.mark.parametrize(("network", "probability", "squares", "sizes"), TABLE)
def test_printed_and_corrected_formulas_have_their_reference_values(network, probability, squares, sizes):
    assert probability_of_less(network, False) == pytest.approx(probability[0], abs=6e-4)
    assert probability_of_less(network) == pytest.approx(probability[1], abs=6e-4)
    printed = squared_deviation_bounds(network, corrected=False)
    assert printed == pytest.approx((squares[0], squares[2]), rel=6e-3)
    assert squared_deviation_bounds(network).lower == pytest.approx(squares[1], rel=6e-3)
    assert absolute_deviation_bounds(network, False) == pytest.approx((sizes[0], sizes[2]), rel=6e-3)
    assert absolute_deviation_bounds(network).lower == pytest.approx(sizes[1], rel=6e-3)


@pytest.mark.parametrize("network", [row[0] for row in TABLE[:4]])
def test_simulated_networks_lie_between_the_corrected_bounds(network):
    draws = 1500
    found = simulate_change(network, draws)
    assert found.probability == pytest.approx(probability_of_less(network), abs=4 * 0.5 / np.sqrt(draws))
    # The mean change of an eigenvalue is 2 n times that of homogeneity.
    change = 2 * network.clients * np.sqrt((2 + network.delta) * homogeneity_variance(network))
    noise = 4 * change / np.sqrt(draws)
    lower, upper = absolute_deviation_bounds(network)
    assert lower - noise < found.absolute_deviation < upper
    lower, upper = squared_deviation_bounds(network)
    assert lower - 2 * noise * found.absolute_deviation < found.squared_deviation < upper


def test_the_printed_variance_of_homogeneity_is_half_of_what_it_is():
    network = Alteration(20, 6, 0.7)
    measured = simulate_change(network, draws=3000).homogeneity_variance
    assert measured == pytest.approx(homogeneity_variance(network), rel=0.15)
    assert measured > 1.6 * homogeneity_variance(network, corrected=False)


def test_simulation_rejects_the_printed_probability_and_accepts_the_corrected_one():
    network = Alteration(10, 6, 0.5, 0.01)
    measured = simulate_change(network, draws=6000).probability
    noise = np.sqrt(measured * (1 - measured) / 6000)
    assert abs(measured - probability_of_less(network)) < 4 * noise
    assert abs(measured - probability_of_less(network, corrected=False)) > 6 * noise


def test_hoffman_and_wielandt_bound_every_single_pair_of_graphs():
    rng = np.random.default_rng(0)
    for old, new in zip(random_weights(8, 5, 1, 50, rng), random_weights(8, 4, 2, 50, rng), strict=True):
        first, second = (np.diag(w.sum(axis=1)) - w for w in (old, new))
        moved = np.sum((np.linalg.eigvalsh(second) - np.linalg.eigvalsh(first)) ** 2)
        assert moved <= np.sum((second - first) ** 2) * (1 + 1e-12)


def test_the_provable_bound_is_the_mean_squared_difference_of_laplacians():
    network = Alteration(12, 6, 0.7, 0.1, 0.5)
    rng = np.random.default_rng(1)
    old = random_weights(12, 6, 0.7, 4000, rng)
    new = random_weights(12, 6 * 0.9, 0.7 * np.sqrt(1.5), 4000, rng)
    change = new - old
    degrees = change.sum(axis=2)
    squares = np.square(change).sum(axis=(1, 2)) + np.square(degrees).sum(axis=1)
    assert squares.mean() / 11 == pytest.approx(squared_deviation_bounds(network).upper, rel=0.02)


def test_no_change_is_a_toss_of_a_coin_whatever_the_variance():
    assert probability_of_less(Alteration(7, 6, 0.7, 0.0, 3.0)) == 0.5


@pytest.mark.parametrize("bad", [{"clients": 1}, {"phi": 0.0}, {"delta": -1.0}, {"epsilon": 1.0}])
def test_impossible_changes_are_refused(bad):
    with pytest.raises(ConfigError):
        Alteration(**{"clients": 5, "theta": 6.0, "phi": 0.5, **bad})
