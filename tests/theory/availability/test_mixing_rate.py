"""Eigenvalues of chains of clients, alone and together."""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.availability import lowest_correlation, transition_matrix
from unalike.theory.availability.mixing_rate import (
    independent_constant,
    independent_modulus,
    joint_chain,
    mixing_constant,
    mixing_rate,
    mixing_time_bounds,
    relaxation_time,
    second_modulus,
    stationary_law,
)

RNG = np.random.default_rng(3)


def some_clients(count):
    active = RNG.uniform(0.05, 0.95, count)
    lowest = lowest_correlation(active)
    return active, lowest + (0.98 - lowest) * RNG.random(count)


def reversible(states):
    flows = RNG.random((states, states)) ** 3
    flows += flows.T
    return flows / flows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("clients", [1, 2, 3, 4, 5, 6])
def test_the_stickiest_client_decides_for_all_of_them(clients):
    for _ in range(5):
        active, correlation = some_clients(clients)
        together = joint_chain(
            [transition_matrix(*client) for client in zip(active, correlation, strict=True)]
        )
        assert together.shape == (2**clients, 2**clients)
        assert second_modulus(together) == pytest.approx(independent_modulus(correlation), abs=1e-10)


def test_the_joint_chain_moves_all_clients_independently():
    (one, two), correlation = some_clients(2)
    a, b = transition_matrix(one, correlation[0]), transition_matrix(two, correlation[1])
    together = joint_chain([a, b])
    for before in range(4):
        for now in range(4):
            expected = a[before // 2, now // 2] * b[before % 2, now % 2]
            assert together[before, now] == pytest.approx(expected)
    np.testing.assert_allclose(stationary_law(together), np.kron([1 - one, one], [1 - two, two]), atol=1e-12)


def test_leaving_out_the_stickiest_client_speeds_mixing_up():
    correlation = [0.1, -0.95, 0.9]
    assert independent_modulus(correlation) == 0.95
    assert independent_modulus(correlation, included=[0.2, 0.0, 0.3]) == 0.9
    assert independent_modulus(correlation, included=[0, 0, 0]) == 0


def test_the_mixing_bound_holds_from_the_first_round():
    for states in (2, 3, 5):
        for _ in range(10):
            chain = reversible(states)
            law, constant = stationary_law(chain), mixing_constant(chain)
            rate, power = mixing_rate(second_modulus(chain)), np.eye(states)
            for round in range(30):
                assert np.abs(power - law).max() <= constant * rate**round * (1 + 1e-9)
                power = power @ chain


def test_the_constant_of_independent_chains_is_that_of_their_product():
    for active, correlation in (([0.5], [0.9]), ([0.9, 0.3], [0.2, 0.7]), ([0.6, 0.1, 0.8], [0.3, 0.5, 0.9])):
        chains = [transition_matrix(pi, again) for pi, again in zip(active, correlation, strict=True)]
        assert independent_constant(active) == pytest.approx(mixing_constant(joint_chain(chains)))
    assert independent_constant([1.0, 0.0]) == 1, "who is always or never there has one state"


def test_a_client_forgets_exactly_at_the_rate_of_its_correlation():
    for active, correlation in zip(*some_clients(20), strict=True):
        chain = transition_matrix(active, correlation)
        gap = np.linalg.matrix_power(chain, 5) - [1 - active, active]
        assert np.abs(gap).max() == pytest.approx(abs(correlation) ** 5 * max(active, 1 - active), abs=1e-12)


def test_the_mixing_time_lies_between_its_bounds():
    for states in (2, 3, 6):
        for accuracy in (0.25, 0.01):
            chain = reversible(states)
            law, power, time = stationary_law(chain), np.eye(states), 0
            while np.abs(power - law).sum(axis=1).max() / 2 > accuracy:
                power, time = power @ chain, time + 1
            low, high = mixing_time_bounds(second_modulus(chain), law.min(), accuracy)
            assert low <= time <= np.ceil(high)


def test_rates_and_times_of_chains_without_memory_and_without_change():
    assert mixing_rate(0.0) == 0.5
    assert relaxation_time(0.0) == 1.0
    assert relaxation_time(0.9) == pytest.approx(10)
    assert relaxation_time(second_modulus(np.eye(2))) == np.inf
    assert second_modulus([[1.0]]) == 0


def test_the_stationary_law_stays():
    chain = reversible(7)
    np.testing.assert_allclose(stationary_law(chain) @ chain, stationary_law(chain), atol=1e-12)
    assert stationary_law(chain).sum() == pytest.approx(1)


def test_what_is_no_chain_is_refused():
    with pytest.raises(ConfigError, match=r"must be square, but has shape \(1, 2\)"):
        second_modulus([[0.5, 0.5]])
    with pytest.raises(ConfigError, match=r"sum to one, but row 1 is \[0.5, 0.6\]"):
        second_modulus([[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(ConfigError, match="row 0 is"):
        stationary_law([[1.5, -0.5], [0.5, 0.5]])
    with pytest.raises(ConfigError, match="row 0 is"):
        stationary_law([[np.nan, 1.0], [0.5, 0.5]])


def test_chains_that_cannot_be_diagonalised_or_written_down_are_refused():
    defective = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    with pytest.raises(ConfigError, match="cannot be diagonalised"):
        mixing_constant(defective)
    with pytest.raises(ConfigError, match="8192 joint states are too many to write down"):
        joint_chain([transition_matrix(0.5, 0.0)] * 13)
