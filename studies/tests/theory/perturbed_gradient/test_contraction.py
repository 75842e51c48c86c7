"""Are contractions those of quadratics, and in the order that is claimed?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.theory.perturbed_gradient.contraction import (
    exact_contraction,
    published_contraction,
    sharper_contraction,
    speed_up,
    theorem_contraction,
)
from unalike.theory.perturbed_gradient.drift import published_factor, tightened_factor
from unalike.theory.perturbed_gradient.problem import Perturbed, Problem, Proximal
from unalike.theory.perturbed_gradient.stability import (
    longest_stable_work,
    round_multiplier,
    stability_warning,
)
from unalike_studies.theory.perturbed_gradient.two_groups import TwoGroups, simulate

ORDER = [Perturbed(0.1), Perturbed(0.5), Perturbed(0.9), Proximal(0.0), Proximal(0.1), Proximal(1.0)]


@pytest.mark.parametrize("condition", [1.0, 2.0, 10.0, 100.0])
def test_perturbed_gradients_contract_most_and_fedprox_least(condition):
    problem = Problem(smoothness=1.0, convexity=1 / condition)
    exact = [theorem_contraction(method, problem, 10) for method in ORDER]
    bound = [published_contraction(method, problem) for method in ORDER]
    sharper = [sharper_contraction(method, problem) for method in ORDER]
    for values in (exact, bound, sharper):
        assert values == sorted(values)
    assert all(a < s <= b + 1e-15 for a, s, b in zip(exact, sharper, bound, strict=True))


def test_the_exact_speed_up_vanishes_while_that_of_the_bound_stays():
    problem = Problem(smoothness=1.0, convexity=0.001)
    exact = speed_up(*(theorem_contraction(m, problem, 10) for m in (Perturbed(0.5), Proximal())))
    bound = speed_up(*(published_contraction(m, problem) for m in (Perturbed(0.5), Proximal())))
    assert 1 < exact < 1.0002
    assert bound == pytest.approx(1.2, abs=1e-3)


@pytest.mark.parametrize("beta", [1.0, 0.7, 0.5, 0.3])
def test_a_round_on_a_quadratic_multiplies_by_the_multiplier(beta):
    alone = TwoGroups(0.8, 0.8, 0.0, 7, 0.3)
    path = simulate(Perturbed(beta), alone, 3)
    assert np.allclose(path, round_multiplier(beta, 0.3, 0.8, 7) ** np.arange(4))
    assert round_multiplier(beta, 0.3, 0.8, 7) == pytest.approx(
        exact_contraction(Perturbed(beta), 0.8, 0.3, 7)
    )


def test_fedprox_contracts_by_its_closed_form():
    alone = TwoGroups(0.8, 0.8, 0.0, 7, 0.3)
    path = simulate(Proximal(0.6), alone, 1)
    assert path[1] == pytest.approx(exact_contraction(Proximal(0.6), 0.8, 0.3, 7))


def test_the_demonstration_of_zigzags_is_that_of_the_text():
    found = [float(round_multiplier(beta, 0.5, 1.0, 20)) for beta in (1, 0.9, 0.7, 0.5, 0.4)]
    assert np.allclose(found, [0.0, -0.1111, -0.4283, -0.9937, -1.4712], atol=5e-5)


@pytest.mark.parametrize("beta", [0.1, 0.3, 0.49])
def test_work_is_stable_up_to_the_limit_and_not_beyond(beta):
    steps, limit = 100_000, longest_stable_work(beta)
    below, above = (abs(float(round_multiplier(beta, f * limit / steps, 1.0, steps))) for f in (0.99, 1.01))
    assert below < 1 < above


def test_no_multiplier_is_beyond_minus_one_from_one_half_on():
    work = np.geomspace(1e-3, 1e3, 200)
    for beta in (0.5, 0.7, 1.0):
        steps = 10_000
        assert (np.abs(round_multiplier(beta, 1 / steps, work, steps)) <= 1).all()


def test_zero_is_the_limit_of_small_beta():
    assert round_multiplier(0.0, 0.1, 2.0, 3) == pytest.approx(float(round_multiplier(1e-7, 0.1, 2.0, 3)))


def test_settings_that_zigzag_are_told():
    assert stability_warning(0.7, 0.1, 1.0, 10) is None
    assert "zigzag" in stability_warning(0.5, 0.1, 1.0, 10)
    assert "grow" in stability_warning(0.3, 0.1, 10.0, 10)
    assert "diverges" in stability_warning(1.0, 2.0, 1.0, 10)


def test_the_tightened_factor_is_never_larger_and_knows_no_pole():
    for beta in np.linspace(0.01, 1, 50):
        for ratio in (1.0, 2.0):
            assert tightened_factor(beta, ratio) <= max(published_factor(beta, ratio), 8.5)
        assert tightened_factor(beta) == pytest.approx(2.5 - 1.5 * beta)
        assert tightened_factor(beta) < published_factor(beta)


def test_impossible_methods_are_refused():
    for make, value in ((Proximal, -1.0), (Perturbed, 0.0), (Perturbed, 1.1), (Proximal, float("nan"))):
        with pytest.raises(ConfigError):
            make(value)
    with pytest.raises(ConfigError, match="beta"):
        round_multiplier(1.5, 0.1, 1.0, 3)
