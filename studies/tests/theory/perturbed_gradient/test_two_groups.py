"""Is the closed form of two groups that pull apart that of a simulation, with lower bounds below it?"""

import numpy as np
import pytest

from unalike.theory.perturbed_gradient.conditions import theorem_step
from unalike.theory.perturbed_gradient.problem import Perturbed, Problem, Proximal
from unalike.theory.perturbed_gradient.strongly_convex import published_fixed_bound
from unalike_studies.theory.perturbed_gradient.two_groups import (
    TwoGroups,
    affine_path,
    affine_round,
    lower_bound,
    simulate,
)

METHODS = [Proximal(), Proximal(0.1), Proximal(1.0), Perturbed(0.9), Perturbed(0.5), Perturbed(0.1)]


@pytest.mark.parametrize("method", METHODS)
def test_the_closed_form_is_the_simulation(method):
    for groups in (TwoGroups(), TwoGroups(2.0, 0.3, 0.7, 4, 0.2)):
        exact, stepped = affine_path(method, groups, 30, 1.5), simulate(method, groups, 30, 1.5)
        assert np.allclose(exact, stepped, rtol=0, atol=1e-12)


def test_fedavg_is_both_without_a_pull_and_without_a_perturbation():
    assert np.allclose(affine_round(Proximal(), TwoGroups()), affine_round(Perturbed(1.0), TwoGroups()))


@pytest.mark.parametrize(
    ("beta", "published"),
    [
        (0.9, (0.526570, 0.298928, 0.127493, 0.110133)),
        (0.7, (0.476916, 0.214526, 0.036648, 0.025082)),
        (0.5, (0.421144, 0.112912, -0.091509, -0.098046)),
    ],
)
def test_two_clients_with_a_graph_are_sent_each_others_model(beta, published):
    path = simulate(Perturbed(beta), TwoGroups(), 400, graph=True)
    assert np.allclose(path[[1, 2, 5, 400]], published, atol=1e-6)


def test_contraction_and_bias_both_fall_with_beta():
    slopes, limits = [], []
    for beta in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1):
        a, b = affine_round(Perturbed(beta), TwoGroups())
        slopes.append(a)
        limits.append(b / (1 - a))
    assert slopes == sorted(slopes, reverse=True)
    assert limits == sorted(limits, reverse=True)


@pytest.mark.parametrize("part", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("method", [*METHODS, Proximal(0.5), Perturbed(0.99)])
def test_no_path_gets_below_the_lower_bound(method, part):
    mu, steps = 1.0, 10
    limit = 1 / (steps * (mu + (method.alpha if isinstance(method, Proximal) else 0)))
    groups = TwoGroups(mu, mu / 2, 1.0, steps, part * limit)
    gaps = groups.gap(affine_path(method, groups, 60))
    assert (gaps >= lower_bound(method, mu, float(gaps[0]), groups, 60) - 1e-15).all()


def test_heterogeneity_is_the_loss_of_all_minus_that_of_each():
    groups = TwoGroups(2.0, 0.5, 3.0)
    least = [-(groups.pull**2) / (2 * h) for h in (groups.steep, groups.flat)]
    assert groups.heterogeneity == pytest.approx(0 - np.mean(least))


@pytest.mark.parametrize("method", METHODS)
def test_the_upper_bound_holds_and_says_little(method):
    problem = Problem(
        smoothness=1.0, convexity=0.5, squared_gradient=4.0, heterogeneity=0.75, initial_gap=0.375
    )
    groups = TwoGroups(step=theorem_step(method, problem, 10))
    gap = groups.gap(affine_path(method, groups, 100))
    bounds = [published_fixed_bound(method, problem, 10, t) for t in range(101)]
    assert (gap <= bounds).all()
    assert bounds[-1] > 1e5 * gap[-1]
