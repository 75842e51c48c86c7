"""Do the bounds hold on random quadratics, and do special steps give the special theorems?"""

import math

import numpy as np
import pytest

from unalike import ConfigError
from unalike.theory.perturbed_gradient import nonconvex, strongly_convex
from unalike.theory.perturbed_gradient.conditions import (
    diminishing_schedule,
    longest_nonconvex_step,
    longest_step,
    theorem_step,
)
from unalike.theory.perturbed_gradient.drift import drift_bound
from unalike.theory.perturbed_gradient.problem import Perturbed, Problem, Proximal
from unalike_studies.theory.perturbed_gradient.quadratics import measure_problem, random_quadratics, run

METHODS = [Proximal(), Proximal(0.5), Perturbed(0.9), Perturbed(0.5), Perturbed(0.2)]
FULL = Problem(
    smoothness=2.0,
    convexity=0.5,
    gradient_variance=3.0,
    squared_gradient=4.0,
    heterogeneity=0.7,
    initial_gap=1.5,
    squared_weights=0.25,
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bounds_hold_on_random_quadratics(method, seed):
    clients = random_quadratics(8, 5, seed)
    start = np.ones(5)
    step = theorem_step(method, measure_problem(clients, start), 5)
    path = run(method, clients, step, 5, 40, start)
    problem = measure_problem(clients, start, path.largest_squared_gradient)
    for t, gap in enumerate(path.gaps):
        assert gap <= strongly_convex.published_fixed_bound(method, problem, 5, t)
        assert gap <= strongly_convex.fixed_step_bound(method, problem, step, 5, t, tightened=True)


@pytest.mark.parametrize("method", METHODS)
def test_diminishing_steps_keep_their_bound_on_random_quadratics(method):
    clients, start = random_quadratics(8, 5, 3), np.ones(5)
    v, tau = diminishing_schedule(method, measure_problem(clients, start), 5)
    path = run(method, clients, lambda t: v / (tau + t), 5, 40, start)
    problem = measure_problem(clients, start, path.largest_squared_gradient)
    bounds = [strongly_convex.diminishing_bound(method, problem, v, tau, 5, t) for t in range(41)]
    assert (path.gaps <= bounds).all()


@pytest.mark.parametrize("beta", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_the_drift_on_random_quadratics_stays_below_the_tightened_bound(beta, seed):
    clients = random_quadratics(8, 5, seed)
    path = run(Perturbed(beta), clients, 0.02, 5, 40, np.ones(5))
    reach = path.largest_squared_gradient
    assert path.largest_drift <= drift_bound(Perturbed(beta), 0.02, 5, reach, tightened=True)


@pytest.mark.parametrize("method", METHODS)
def test_special_steps_give_the_special_theorems(method):
    v, tau = diminishing_schedule(method, FULL, 5)
    for t in (0, 7, 1000):
        general = strongly_convex.diminishing_bound(method, FULL, v, tau, 5, t)
        special = strongly_convex.published_diminishing_bound(method, FULL, 5, t)
        assert general == pytest.approx(special) == pytest.approx(written_out(method, t))


def written_out(method, t, E=5):
    """The theorem with diminishing steps, as printed."""
    L, mu, s2, G2 = FULL.smoothness, FULL.convexity, FULL.gradient_variance, FULL.squared_gradient
    S, Gamma, Delta = FULL.squared_weights, FULL.heterogeneity, FULL.initial_gap
    if isinstance(method, Proximal):
        La = L + method.alpha
        bracket = Delta + S * s2 / (La * E) + 6 * L * Gamma / (La * E) + 8 * E * G2 / La
        return L / mu * (8 * La / mu) / (8 * La / mu + t) * bracket
    b = method.beta
    A2 = 4 + (1 - b) ** 2 + 32 * (1 - 1 / b) ** 2
    bracket = Delta + S * s2 / (L * E) + 6 * Gamma / E + 8 * A2 * E * G2 / L
    bracket += mu * b * (1 - b) * G2 / (2 * L**2)
    return L / mu * (8 * L / mu) / (8 * L / mu + t) * bracket


@pytest.mark.parametrize("method", METHODS)
def test_the_fixed_nonconvex_theorem_is_the_printed_one(method):
    E, T = 5, 200
    L, s2, G2, S = FULL.smoothness, FULL.gradient_variance, FULL.squared_gradient, FULL.squared_weights
    if isinstance(method, Proximal):
        a, La = method.alpha, L + method.alpha
        first = 8 * La * 1.5 / E**0.5 + L * S * s2 / (La * E**0.5) + a * E**1.5 * G2 / La
        printed = first / T**0.5 + 2 * L**2 * E * G2 / (La**2 * T)
        printed += a**2 * L * E**0.5 * G2 / (16 * La**3 * T**1.5)
    else:
        b = method.beta
        A1 = 4 + (1 - b) ** 2 + 8 * (1 - 1 / b) ** 2
        printed = (4 * L * 1.5 / E**0.5 + S * s2 / (2 * E**0.5)) / T**0.5 + E * G2 / T * A1
    assert nonconvex.published_fixed_bound(method, FULL, E, T) == pytest.approx(printed)


@pytest.mark.parametrize("method", METHODS)
def test_the_corrected_theorem_is_above_its_own_lemma_and_the_printed_one_is_not(method):
    E, T = 5, 500
    total = FULL.smoothness + (method.alpha if isinstance(method, Proximal) else 0)
    steps = [1 / (2 * total * math.sqrt(E) * (t + 1)) for t in range(T)]
    lemma = nonconvex.gradient_bound(method, FULL, steps, E)
    assert nonconvex.published_diminishing_bound(method, FULL, E, T) >= lemma
    if isinstance(method, Perturbed) and method.beta <= 0.5:
        assert nonconvex.published_diminishing_bound(method, FULL, E, T, corrected=False) < lemma


def test_printed_and_corrected_constants_differ_by_four():
    assert nonconvex.drift_term(1.0, 10, 2.0) == 6 * 10 * 2.0
    assert nonconvex.drift_term(0.5, 10, 2.0) == 4 * nonconvex.drift_term(0.5, 10, 2.0, corrected=False)


def test_the_best_number_of_local_steps_is_the_least_of_the_bound():
    best, least = nonconvex.best_local_steps(Perturbed(0.7), FULL, 10_000)
    rates = {E: nonconvex.published_fixed_bound(Perturbed(0.7), FULL, E, 10_000) for E in range(1, 60)}
    assert abs(min(rates, key=rates.get) - best) <= 1
    assert min(rates.values()) == pytest.approx(least, rel=0.02)
    noisy = Problem(smoothness=2.0, convexity=0.5, gradient_variance=900.0, squared_gradient=0.5)
    for method in (Proximal(0.3), Perturbed(0.9)):
        best = strongly_convex.best_local_steps(method, noisy)
        late = {
            E: strongly_convex.published_diminishing_bound(method, noisy, E, 10**6) for E in range(1, 200)
        }
        assert abs(min(late, key=late.get) - best) <= 1


def test_more_accuracy_needs_more_rounds_and_the_bound_is_met_there():
    rounds = [nonconvex.rounds_to(Perturbed(0.7), FULL, 5, target) for target in (1.0, 0.1, 0.01)]
    assert rounds == sorted(rounds)
    met = nonconvex.published_fixed_bound(Perturbed(0.7), FULL, 5, int(rounds[1]))
    assert met <= 3 * 0.1, "three terms, each of the order of the target"


def test_steps_beyond_the_conditions_have_no_bound():
    method = Proximal(4.0)
    assert strongly_convex.fixed_step_bound(method, FULL, 1.01 * longest_step(method, FULL), 5, 3) == math.inf
    assert strongly_convex.diminishing_bound(method, FULL, 1e-3, 10.0, 5, 3) == math.inf
    assert (
        nonconvex.gradient_bound(method, FULL, [1.01 * longest_nonconvex_step(method, FULL)], 5) == math.inf
    )
    with pytest.raises(ConfigError, match="strongly convex"):
        strongly_convex.fixed_step_bound(method, Problem(smoothness=1.0), 0.1, 5, 3)
