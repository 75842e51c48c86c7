"""The bound on the optimization error is what its formula says, and its minimizer is the best there is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation.availability import Markov, transition_matrix
from unalike.theory.availability.mixing_rate import (
    independent_modulus,
    joint_chain,
    mixing_constant,
    mixing_rate,
)
from unalike.theory.availability.optimization_error import (
    Constants,
    OptimizationBound,
    fill_simplex,
    largest_first_rate,
    minimize_ratio,
    optimization_bound,
    quickest_weights,
)

SOME = Constants(
    smoothness=2.0,
    noise=np.array([0.5, 1.5, 1.0]),
    slope=3.0,
    spread=4.0,
    heterogeneity=0.7,
    diameter=5.0,
    local_steps=2,
    states=8.0,
    mixing_rate=0.8,
    mixing_constant=6.0,
    burn_in=3,
)
ACTIVE, WEIGHTS = np.array([0.9, 0.5, 0.1]), np.array([0.3, 0.2, 0.4])
RATES = 0.04 / np.arange(1, 31) ** 0.7


def naive_bound(active, weights, c, rates):
    """The sum as it is printed, with Python's own numbers."""
    steps, total = c.local_steps, sum(weights)
    moment = c.slope**2 + max(c.noise)
    sum_squares = sum(rate**2 for rate in rates)
    sigma = [2 * (steps + 1) * s * p * sum_squares for s, p in zip(c.noise, active, strict=True)]
    quadratic = sum(s * q * q for s, q in zip(sigma, weights, strict=True)) / 2
    v = 2 / steps * c.diameter**2
    v += c.states * total / 4 * sum(rate**2 + 1 / t**2 for t, rate in enumerate(rates, 1))
    psi = (4 * c.smoothness * (1 + steps * total) * c.heterogeneity + 2 * steps**2 * moment) * sum_squares
    psi += c.spread * sum(rates[t - 1] for t in range(1, c.burn_in))
    phi = 0.0
    for t in range(1, len(rates) + 1):
        log = math.log(2 * c.mixing_constant * c.spread * t)
        delay = min(max(math.ceil(log / math.log(1 / c.mixing_rate)), c.burn_in), t)
        phi += log * rates[max(t - delay, 1) - 1] ** 2
    phi *= 2 * steps * c.slope * math.sqrt(moment) * total
    reach = sum(p * q for p, q in zip(active, weights, strict=True))
    return ((quadratic + v) / reach + psi + phi / math.log(1 / c.mixing_rate)) / sum(rates)


def test_the_terms_sum_to_the_printed_formula():
    bound = optimization_bound(ACTIVE, WEIGHTS, SOME, RATES)
    assert min(bound) > 0
    assert bound.total == pytest.approx(naive_bound(ACTIVE, WEIGHTS, SOME, RATES), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "grown"),
    [
        ({"noise": 2 * SOME.noise, "slope": 0.0}, {"noise", "local_steps"}),
        ({"diameter": 6.0}, {"start"}),
        ({"states": 16.0}, {"states"}),
        ({"heterogeneity": 0.8}, {"heterogeneity"}),
        ({"burn_in": 4}, {"burn_in"}),
        ({"mixing_rate": 0.9}, {"correlation"}),
        ({"mixing_constant": 60.0}, {"correlation"}),
    ],
)
def test_each_term_answers_for_its_own_constants(change, grown):
    base = replace(SOME, slope=change.get("slope", SOME.slope))
    before = optimization_bound(ACTIVE, WEIGHTS, base, RATES)
    after = optimization_bound(ACTIVE, WEIGHTS, replace(base, **change), RATES)
    pairs = zip(OptimizationBound._fields, before, after, strict=True)
    changed = {name for name, old, new in pairs if new > old * (1 + 1e-12)}
    assert changed == grown


def test_correlation_hurts_without_limit():
    totals = [
        optimization_bound(ACTIVE, WEIGHTS, replace(SOME, mixing_rate=mixing_rate(m)), RATES).total
        for m in (0.0, 0.5, 0.9, 0.99, 0.9999, 1.0)
    ]
    assert (np.diff(totals) > 0).all()
    assert totals[-1] == np.inf


def test_clients_without_differences_need_no_logarithm():
    assert optimization_bound(ACTIVE, WEIGHTS, replace(SOME, spread=0.0), RATES).correlation == 0


def test_the_bound_covers_a_simulated_run():
    """Two one-dimensional clients on [-1, 1] with exact gradients; everything is known."""
    curvature, centers = np.array([1.0, 2.0]), np.array([-0.5, 0.5])
    active, correlation, weights = np.array([0.8, 0.4]), np.array([0.0, 0.9]), np.array([0.5, 0.5])
    p = active * weights / (active @ weights)
    best = (p * curvature) @ centers / (p @ curvature)
    target = (curvature @ centers) / curvature.sum()
    chain = joint_chain([transition_matrix(*client) for client in zip(active, correlation, strict=True)])

    def losses(w):
        return curvature * (w - centers) ** 2 / 2

    constants = Constants(
        smoothness=2.0,
        noise=np.zeros(2),
        slope=float((curvature * (1 + np.abs(centers))).max()),
        spread=max(np.abs(losses(w) - losses(best)).max() for w in np.linspace(-1, 1, 201)),
        heterogeneity=max(losses(best).max(), losses(target).max()),
        diameter=2.0,
        states=4.0,
        mixing_rate=mixing_rate(independent_modulus(correlation)),
        mixing_constant=mixing_constant(chain),
    )
    rates = largest_first_rate(2.0, 1, 1.0) / np.arange(1, 401) ** 0.75
    errors = []
    for seed in range(20):
        availability, w, mean = Markov(active, correlation), 1.0, 0.0
        for t, rate in enumerate(rates):
            mean += rate * w / rates.sum()
            there = availability.present(t, generator(seed, "availability", t))
            w = np.clip(w - rate * (weights * there) @ (curvature * (w - centers)), -1, 1)
        errors.append(p @ (losses(mean) - losses(best)))
    assert np.mean(errors) <= optimization_bound(active, weights, constants, rates).total


def ratio(q, curvature, offset, slope):
    return (curvature @ q**2 / 2 + offset) / (slope @ q)


def ratios_to_minimize(count=40):
    rng = np.random.default_rng(5)
    for _ in range(count):
        n = rng.integers(1, 7)
        curvature, slope = rng.uniform(0.1, 5, n), rng.uniform(0.05, 1, n)
        yield rng, curvature, rng.choice([0.0, 0.1, 1.0, 20.0]), slope, rng.choice([0.1, 1.0, 10.0])


def test_no_weights_of_the_same_total_are_better():
    for rng, curvature, offset, slope, total in ratios_to_minimize():
        q = minimize_ratio(curvature, offset, slope, total)
        assert q.min() >= 0
        assert q.sum() == pytest.approx(total)
        least = ratio(q, curvature, offset, slope)
        others = total * rng.dirichlet(np.full(len(q), 0.5), 2000)
        assert least <= min(ratio(other, curvature, offset, slope) for other in others) * (1 + 1e-12)
        found = minimize(
            ratio,
            np.full(len(q), total / len(q)),
            (curvature, offset, slope),
            bounds=[(0, total)] * len(q),
            constraints={"type": "eq", "fun": lambda x, total=total: x.sum() - total},
        )
        assert least == pytest.approx(found.fun, rel=1e-4)


def test_the_minimizer_has_the_published_form():
    for _, curvature, offset, slope, total in ratios_to_minimize():
        q = minimize_ratio(curvature, offset, slope, total)
        iota, some = ratio(q, curvature, offset, slope), q > 0
        thetas = iota * slope - curvature * q
        np.testing.assert_allclose(thetas[some], thetas[some][0], atol=1e-9 * max(iota, 1))
        assert (iota * slope[~some] <= thetas[some][0] + 1e-9).all()


def test_the_inner_problem_equals_bisection():
    rng = np.random.default_rng(8)
    for _ in range(50):
        n, total = rng.integers(1, 9), rng.choice([1e-6, 1.0, 50.0])
        gains, curvature = rng.normal(size=n), rng.uniform(0.01, 3, n)
        low, high = gains.min() - total * curvature.max(), gains.max()
        for _ in range(200):
            theta = (low + high) / 2
            too_much = (np.maximum(gains - theta, 0) / curvature).sum() > total
            low, high = (theta, high) if too_much else (low, theta)
        expected = np.maximum(gains - low, 0) / curvature
        np.testing.assert_allclose(fill_simplex(gains, curvature, total), expected, atol=1e-8 * total)


def test_clients_without_curvature_take_what_is_left():
    np.testing.assert_allclose(fill_simplex(np.array([3.0, 1.0, 1.0]), np.array([1.0, 0, 0]), 6.0), [2, 2, 2])
    np.testing.assert_allclose(fill_simplex(np.array([3.0, 1.0]), np.array([1.0, 0.0]), 1.5), [1.5, 0])
    np.testing.assert_allclose(fill_simplex(np.array([1.0, 3.0]), np.zeros(2), 2.0), [0, 2])


def test_a_hundred_thousand_clients_are_weighted_at_once():
    rng = np.random.default_rng(0)
    active, noise = rng.uniform(0.01, 1, 100_000), rng.uniform(0.5, 2, 100_000)
    q = quickest_weights(active, replace(SOME, noise=noise, states=2.0), RATES)
    assert q.sum() == pytest.approx(1)
    assert 0 < (q > 0).sum() < 100_000


def test_quickest_weights_minimize_the_bound():
    rng = np.random.default_rng(0)
    for total in (0.2, 0.9):
        q = quickest_weights(ACTIVE, SOME, RATES, total)
        least = optimization_bound(ACTIVE, q, SOME, RATES).total
        for other in total * rng.dirichlet(np.ones(3), 300):
            assert least <= optimization_bound(ACTIVE, other, SOME, RATES).total * (1 + 1e-12)


def test_weights_grow_with_availability_only_while_the_total_is_small():
    """For equal noise; published as growing always, but the curvature grows with availability as well."""
    active, constants = np.array([0.2, 0.5, 0.8]), replace(SOME, noise=np.ones(3), states=0.0)
    curvature = 2 * 3 * active * (RATES @ RATES)
    offset = constants.diameter**2
    # without a total, q is the same s for all, with (s^2 sum A / 2 + offset) / (s sum pi) least
    indifferent = 3 * np.sqrt(2 * offset / curvature.sum())
    small, equal, large = (
        quickest_weights(active, constants, RATES, total)
        for total in (indifferent / 2, indifferent, indifferent * 2)
    )
    assert (np.diff(small) >= 0).all()
    assert small[0] < small[2]
    np.testing.assert_allclose(equal, indifferent / 3, rtol=1e-6)
    assert (np.diff(large) < 0).all()


def test_the_first_rate_is_limited():
    assert largest_first_rate(2.0, 5, 0.5) == pytest.approx(1 / (2 * 2 * (1 + 2 * 5 * 0.5)))
    with pytest.raises(
        ConfigError, match=r"the first step size must be at most 0.05435 for the bound, but is 0.1"
    ):
        optimization_bound(ACTIVE, WEIGHTS, SOME, [0.1, 0.01])


@pytest.mark.parametrize("rates", [[], [0.01, 0.02], [0.01, 0.0], [0.01, -0.01]])
def test_rates_must_be_positive_and_must_not_grow(rates):
    with pytest.raises(ConfigError, match="step sizes must be positive and must not grow"):
        optimization_bound(ACTIVE, WEIGHTS, SOME, rates)


def test_somebody_must_be_there():
    with pytest.raises(ConfigError, match="somebody with a positive weight must be available"):
        optimization_bound([0.0, 0.5, 0.5], [1.0, 0.0, 0.0], SOME, [0.01])
    for wrong in (
        {"total": 0.0},
        {"slope": np.zeros(2)},
        {"offset": -1.0},
        {"curvature": np.array([-1.0, 1.0])},
    ):
        given = {"curvature": np.ones(2), "offset": 1.0, "slope": np.ones(2), "total": 1.0, **wrong}
        with pytest.raises(ConfigError, match="the ratio needs a positive total"):
            minimize_ratio(**given)
