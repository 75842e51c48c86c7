"""Is the bound on the squared gradient computed right, and does it hold where the truth is known?"""

import math

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import Binomial, Full, Multinomial, OriginalFedAvg, Uniform, WeightStatistics
from unalike.participation.samplers.clustered_size import ClusteredBySize
from unalike.theory.sampling.bound import (
    LocalWork,
    Problem,
    convergence_bound,
    effective_importance,
    effective_steps,
    proximal_accumulation,
)
from unalike.theory.sampling.quadratic import expected_errors, local_progress

EQUAL = np.full(10, 0.1)
PROBLEM = Problem(
    learning_rate=0.01,
    server_learning_rate=1.5,
    local_steps=4,
    rounds=200,
    smoothness=2.0,
    gradient_variance=3.0,
    dissimilarity=5.0,
    dissimilarity_growth=1.25,
    initial_gap=7.0,
)


def test_every_term_equals_its_formula_written_out():
    known = Multinomial(per_round=5).statistics(EQUAL)
    bound = convergence_bound(known, PROBLEM)
    variance, gamma, squares, rate = 0.9 / 5, 1 / 5, 0.1, 0.01 * 1.5
    assert bound.orders.initial_error == pytest.approx(1 / (rate * 4 * 200))
    assert bound.orders.local_noise == pytest.approx(0.01**2 * 3 * 3.0)
    assert bound.orders.sampled_noise == pytest.approx(rate * (variance + squares) * 3.0)
    assert bound.orders.client_drift == pytest.approx(0.01**2 * 4 * 3 * 5.0)
    assert bound.orders.sampling_and_heterogeneity == pytest.approx(rate * gamma * (3 / 4 * 3.0 + 4 * 5.0))
    omega = 1.5 * 2 * rate * 4 * gamma * 1.25
    total = (
        4 * 7 / (rate * 4 * 200)
        + 2 * 2 * rate * (variance + squares) * 3
        + 3 * 0.01**2 * 2**2 * 3 * 3
        + 6 * 0.01**2 * 2**2 * 4 * 3 * 5
        + 3 * 2 * rate * 3 / 4 * gamma * 3
        + 6 * 2 * rate * 4 * gamma * 5
    ) / (1 - omega)
    assert bound.omega == pytest.approx(omega)
    assert bound.total == pytest.approx(total)


def test_without_sampling_only_three_terms_and_local_noise_remain():
    bound = convergence_bound(Full().statistics(EQUAL), PROBLEM)
    assert bound.omega == bound.terms.sampling_and_heterogeneity == 0
    assert bound.orders.sampled_noise == pytest.approx(0.015 * 0.1 * 3)
    assert bound.total < convergence_bound(Uniform(per_round=5).statistics(EQUAL), PROBLEM).total


def test_a_better_scheme_has_a_smaller_bound():
    totals = [
        convergence_bound(kind(per_round=5).statistics(EQUAL), PROBLEM).total
        for kind in (Uniform, Multinomial)
    ]
    assert totals[0] < totals[1]
    sizes = np.arange(1, 11)
    clustered = ClusteredBySize(per_round=5, sizes=sizes).statistics(sizes / 55)
    multinomial = Multinomial(per_round=5).statistics(sizes / 55)
    assert convergence_bound(clustered, PROBLEM).total < convergence_bound(multinomial, PROBLEM).total


def test_with_the_usual_learning_rate_the_orders_fall_as_published():
    """1/sqrt(mKT) + sqrt(m/(KT)) sum p^2 s2 + (m/T) (s2 + K k2) for eta_l = sqrt(m/(KT)) and eta_g = 1."""
    m, steps, rounds = 5, 10, 4000
    problem = Problem(
        learning_rate=math.sqrt(m / (steps * rounds)),
        local_steps=steps,
        rounds=rounds,
        gradient_variance=2.0,
        dissimilarity=3.0,
    )
    orders = convergence_bound(Full().statistics(EQUAL), problem).orders
    assert orders.initial_error == pytest.approx(1 / math.sqrt(m * steps * rounds))
    assert orders.sampled_noise == pytest.approx(math.sqrt(m / (steps * rounds)) * 0.1 * 2)
    assert orders.local_noise == pytest.approx(m / rounds * 2 * (steps - 1) / steps)
    assert orders.client_drift == pytest.approx(m / rounds * 3 * (steps - 1))


@pytest.mark.parametrize("kind", [Multinomial, Uniform, Binomial])
def test_the_bound_holds_on_quadratic_losses_whenever_its_conditions_do(kind):
    """There, L = b2 = 1, k2 = sum_i p_i ||x_i||^2, and the squared gradient is the squared error."""
    rng = np.random.default_rng(5)
    feasible = 0
    for _ in range(150):
        n, steps, rounds = rng.integers(2, 12), int(rng.integers(1, 10)), int(rng.choice([1, 10, 300]))
        p, optima = rng.dirichlet(np.ones(n)), rng.normal(size=n) * rng.choice([0.1, 1, 10])
        known = kind(per_round=int(rng.integers(1, n + 1))).statistics(p)
        rate, server = 10 ** rng.uniform(-3, -0.4) / steps, 10 ** rng.uniform(-1, 1)
        start = float(rng.choice([0.0, 3.0]))
        problem = Problem(
            learning_rate=rate,
            server_learning_rate=server,
            local_steps=steps,
            rounds=rounds,
            dissimilarity=float(p @ (optima - p @ optima) ** 2),
            initial_gap=float((start - p @ optima) ** 2 / 2),
        )
        bound = convergence_bound(known, problem)
        errors = expected_errors(known, optima, server * local_progress(rate, steps), rounds, start)
        if bound.conditions:
            feasible += 1
            assert errors[:-1].mean() <= bound.total
    assert feasible > 50


def test_each_condition_fails_when_its_step_is_too_long():
    known = Multinomial(per_round=1).statistics(EQUAL)
    ten = {"local_steps": 10, "rounds": 10}
    cases = {
        (True, True, True): Problem(learning_rate=0.01, server_learning_rate=1.0, **ten),
        (False, True, True): Problem(learning_rate=0.05, server_learning_rate=0.5, **ten),
        (True, True, False): Problem(learning_rate=0.01, server_learning_rate=5.0, **ten),
    }
    for wanted, problem in cases.items():
        conditions = convergence_bound(known, problem).conditions
        assert (conditions.local, conditions.server, conditions.sampling) == wanted
        assert bool(conditions) == all(wanted)
    # alpha = 1 for one draw, so that the server's condition can only fail for others.
    everyone = Full().statistics(EQUAL)
    long = convergence_bound(everyone, Problem(learning_rate=0.01, server_learning_rate=11.0, **ten))
    assert not long.conditions.server
    assert long.conditions.sampling


def test_the_sampling_condition_is_that_omega_is_at_most_one_half():
    known = Multinomial(per_round=1).statistics(EQUAL)
    for rate, holds in [(1 / 3 - 1e-9, True), (1 / 3 + 1e-9, False)]:
        bound = convergence_bound(known, Problem(learning_rate=rate, local_steps=1, rounds=1))
        assert (bound.omega <= 0.5) == bound.conditions.sampling == holds


def test_beyond_omega_one_there_is_no_bound():
    known = Multinomial(per_round=1).statistics(EQUAL)
    assert convergence_bound(known, Problem(learning_rate=1.0, local_steps=1, rounds=1)).total == math.inf


def test_biased_weights_and_weights_without_a_gamma_have_no_bound():
    with pytest.raises(ConfigError, match="right on average, but these are biased"):
        convergence_bound(OriginalFedAvg(per_round=2).statistics(EQUAL), PROBLEM)
    bare = WeightStatistics(EQUAL, EQUAL, 0 * EQUAL, EQUAL, 0.0)
    with pytest.raises(ConfigError, match="needs a gamma"):
        convergence_bound(bare, PROBLEM)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("learning_rate", 0.0, "learning_rate must be above 0, but is 0.0"),
        ("local_steps", 0, "local_steps must be at least 1, but is 0"),
        ("dissimilarity_growth", 0.5, "dissimilarity_growth must be at least 1, but is 0.5"),
        ("gradient_variance", -1.0, "gradient_variance must be at least 0, but is -1.0"),
        ("smoothness", math.nan, "smoothness must be above 0, but is nan"),
    ],
)
def test_impossible_constants_are_refused(field, value, words):
    constants = {"learning_rate": 0.1, "local_steps": 1, "rounds": 1, field: value}
    with pytest.raises(ConfigError, match=words):
        Problem(**constants)


def test_proximal_coefficients_are_what_is_left_of_each_gradient():
    rate, mu, start = 0.3, 0.7, 2.0
    gradients = np.random.default_rng(0).normal(size=6)
    model = start
    for gradient in gradients:
        model -= rate * (gradient + mu * (model - start))
    assert model - start == pytest.approx(-rate * proximal_accumulation(6, rate, mu) @ gradients)
    np.testing.assert_array_equal(proximal_accumulation(6, rate, 0.0), np.ones(6))


def test_clients_that_work_more_count_more():
    """With short steps, unequal work ends where the losses weighted by effective importance are least."""
    importance, work, optima = np.array([0.5, 0.3, 0.2]), np.array([1, 5, 20]), np.array([0.0, 1.0, 5.0])
    progress = local_progress(1e-6, work)
    fixed_point = importance * progress @ optima / (importance @ progress)
    assert effective_importance(importance, work) @ optima == pytest.approx(fixed_point, rel=1e-4)
    assert effective_steps(importance, work) == pytest.approx(0.5 + 1.5 + 4)
    np.testing.assert_allclose(effective_importance(importance, np.full(3, 7)), importance)
    with pytest.raises(ConfigError, match="one number per client"):
        effective_importance(importance, [1, 2])


def test_the_bound_of_any_local_solver_is_its_formula_written_out():
    p, rng = np.array([0.5, 0.3, 0.2]), np.random.default_rng(0)
    known = Multinomial(per_round=2).statistics(p)
    coefficients = [rng.uniform(0, 1, k) for k in (2, 5, 3)]
    bound = convergence_bound(known, PROBLEM, LocalWork.of(coefficients))
    rate, mean = 0.01 * 1.5, sum(p[i] * a.sum() for i, a in enumerate(coefficients))
    variance, gamma = p * (1 - p) / 2, p / 2
    sampled = local = noisy = unlike = drift = 0.0
    for i, a in enumerate(coefficients):
        before = (a[:-1] ** 2).sum()
        sampled += (variance[i] + p[i] ** 2) * (a**2).sum() / mean
        local += p[i] * a.sum() / mean * before
        noisy += gamma[i] * before / mean
        unlike += gamma[i] * a.sum() ** 2 / mean
        drift = max(drift, a.sum() * a[:-1].sum())
    omega = 1.5 * 2 * rate * unlike * 1.25
    total = (
        4 * 7 / (rate * mean * 200)
        + 2 * 2 * rate * sampled * 3
        + 3 * 0.01**2 * 2**2 * local * 3
        + 6 * 0.01**2 * 2**2 * drift * 5
        + 2 * rate * (3 * noisy * 3 + 6 * unlike * 5)
    ) / (1 - omega)
    assert bound.omega == pytest.approx(omega)
    assert bound.total == pytest.approx(total)


def test_plain_steps_of_everyone_are_sgd_and_a_proximal_term_shortens_the_way():
    known = Uniform(per_round=5).statistics(EQUAL)
    plain = convergence_bound(known, PROBLEM, LocalWork.of([np.ones(4)] * 10))
    assert plain.total == pytest.approx(convergence_bound(known, PROBLEM).total, rel=1e-12)
    held = convergence_bound(known, PROBLEM, LocalWork.of([proximal_accumulation(4, 0.01, 20.0)] * 10))
    assert held.orders.client_drift < plain.orders.client_drift
    assert held.orders.initial_error > plain.orders.initial_error


def test_the_bound_holds_for_the_loss_with_effective_importance():
    """Full steps on quadratic losses, different numbers of them: everything is known."""
    p, optima, rate, rounds = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 5.0]), 0.01, 50
    steps = [1, 4, 8]
    target = effective_importance(p, steps) @ optima
    model, squares = 0.0, []
    for _ in range(rounds):
        squares.append((model - target) ** 2)
        model += p @ (local_progress(rate, np.array(steps)) * (optima - model))
    problem = Problem(
        learning_rate=rate,
        local_steps=1,
        rounds=rounds,
        dissimilarity=float(effective_importance(p, steps) @ (optima - target) ** 2),
        initial_gap=target**2 / 2,
    )
    bound = convergence_bound(Full().statistics(p), problem, LocalWork.of([np.ones(k) for k in steps]))
    assert bound.conditions
    assert np.mean(squares) < bound.total


def test_coefficients_that_are_none_are_refused():
    known = Full().statistics(np.full(2, 0.5))
    for wrong in ([[1.0, -1.0], [1.0]], [[], [1.0]]):
        with pytest.raises(ConfigError, match="coefficients of its steps"):
            LocalWork.of(wrong)
    with pytest.raises(ConfigError, match="one number per client"):
        convergence_bound(known, PROBLEM, LocalWork.of([[1.0]]))
