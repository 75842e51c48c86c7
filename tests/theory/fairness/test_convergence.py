"""Do bounds of fair weights hold where everything can be computed: on quadratic losses with fixed ranks?"""

import math

import numpy as np
import pytest

from unalike.algorithms.shared.fair_weights import ClientGroups
from unalike.errors import ConfigError
from unalike.theory.fairness.nonconvex import gradient_bound, published_gradient_bound, published_rate
from unalike.theory.fairness.problem import FairProblem, pressure_of
from unalike.theory.fairness.strongly_convex import (
    corrected_bound,
    corrected_noise,
    distance_bound,
    fixed_step_bound,
    personal_rate,
    published_bound,
    published_noise,
    theorem_schedule,
)

CLIENTS, LOCAL_STEPS, STEPS, RUNS = 4, 3, 120, 400
SHARES, NOISE = np.array([0.1, 0.2, 0.3, 0.4]), 0.5


class Quadratics:
    """F_k = a_k / 2 |w - b_k|^2 in two dimensions, with noise on gradients and multipliers that stay."""

    def __init__(self, rho, seed=0):
        rng = np.random.default_rng(seed)
        self.curves = np.array([1.0, 2.0, 1.5, 3.0])
        self.optima = rng.normal(size=(CLIENTS, 2))
        self.counts = 1 + rho * np.array([1.0, -1.0, 1 / 3, 0.0])  # one on average, by importance
        self.weights = SHARES * self.counts * self.curves
        self.optimum = self.weights @ self.optima / self.weights.sum()
        self.plain = (SHARES * self.curves) @ self.optima / (SHARES @ self.curves)

    def objective(self, points):
        squares = ((points[..., None, :] - self.optima) ** 2).sum(-1)
        return (SHARES * self.counts * self.curves / 2 * squares).sum(-1)

    def gap(self, points):
        return self.objective(points) - self.objective(self.optimum)

    def heterogeneity(self):
        return float((SHARES * self.curves / 2 * ((self.plain - self.optima) ** 2).sum(1)).sum())

    def problem(self, largest, rho, drawn=0, gap=1.0):
        return FairProblem(
            smoothness=3.0,
            convexity=1.0,
            pressure=rho,
            local_steps=LOCAL_STEPS,
            gradient_variance=2 * NOISE**2,
            squared_gradient=largest,
            heterogeneity=self.heterogeneity(),
            squared_weights=float((SHARES**2).sum()),
            drawn=drawn,
            initial_gap=gap,
        )

    def train(self, step_at, drawn=0, seed=1):
        """Mean models after every round, of many runs; and the largest mean squared gradient."""
        rng = np.random.default_rng(seed)
        own = np.full((RUNS, CLIENTS, 2), 3.0)
        found, largest = [own[:, 0]], 0.0
        for t in range(STEPS):
            exact = self.curves[:, None] * (own - self.optima)
            gradient = exact + NOISE * rng.normal(size=own.shape)
            largest = max(largest, float((exact**2).sum(-1).max()) + 2 * NOISE**2)
            own = own - step_at(t) * self.counts[:, None] * gradient
            if (t + 1) % LOCAL_STEPS == 0:
                found.append(self.average(own, drawn, rng))
                own = np.repeat(found[-1][:, None], CLIENTS, axis=1)
        return np.array(found), largest

    def average(self, own, drawn, rng):
        if not drawn:
            return SHARES @ own
        chosen = rng.choice(CLIENTS, (RUNS, drawn), p=SHARES)
        return np.take_along_axis(own, chosen[..., None], axis=1).mean(1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("drawn", [0, 2])
def test_the_corrected_bound_holds_on_quadratics_in_every_round(rho, drawn):
    world = Quadratics(rho)
    schedule = theorem_schedule(world.problem(1.0, rho))
    models, largest = world.train(schedule.step, drawn)
    problem = world.problem(largest, rho, drawn)
    first = float(((models[0, 0] - world.optimum) ** 2).sum())
    for number, points in enumerate(models):
        steps = number * LOCAL_STEPS
        assert ((points - world.optimum) ** 2).sum(-1).mean() <= distance_bound(problem, steps, first)
        assert world.gap(points).mean() <= corrected_bound(problem, steps, first)


def test_with_steps_of_one_length_it_holds_too():
    world, rho = Quadratics(0.5), 0.5
    step = world.problem(1.0, rho).longest_step
    models, largest = world.train(lambda t: step)
    problem = world.problem(largest, rho)
    first = float(((models[0, 0] - world.optimum) ** 2).sum())
    for number, points in enumerate(models):
        assert world.gap(points).mean() <= fixed_step_bound(problem, step, number * LOCAL_STEPS, first)
    assert fixed_step_bound(problem, 1.01 * step, 10, first) == math.inf


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_the_mean_squared_gradient_is_below_the_corrected_bound_without_convexity(rho):
    world = Quadratics(rho)
    step = lambda t: 0.1 / math.sqrt(1 + t / LOCAL_STEPS)  # noqa: E731
    models, largest = world.train(step)
    problem = world.problem(largest, rho, gap=float(world.gap(models[0, 0])))
    slopes = world.weights.sum() * (models - world.optimum)
    least = (slopes**2).sum(-1).mean(1).min()
    rates = [step(t) for t in range(STEPS)]
    assert least <= gradient_bound(problem, rates)
    assert gradient_bound(problem, [0.34]) == math.inf


def test_the_printed_bound_without_convexity_is_term_by_term_that_of_the_appendix():
    problem, total = Quadratics(0.5).problem(5.0, 0.5, gap=7.0), 0.0
    for eta in (0.1, 0.2):
        total += 2 * 4 * 9 * eta**2 * problem.heterogeneity
        total += (8 * eta**3 * 4 * 9 * 2 + 8 * 4 * 3 * eta**2 + 4 * 14 * 4 * 3 * eta**4 * 2) * 5.0
        total += (2 * 3 * eta**2 + 8 * 4 * 3 * eta**2) * problem.gradient_variance
    by_hand = (2 * (1 + 2 * 4 * 9 * 0.05) * 7.0 + 2 * total) / np.sqrt(2)
    assert published_gradient_bound(problem, [0.1, 0.2], 4) == pytest.approx(by_hand)


def test_without_pressure_the_noise_is_that_of_fedavg_and_pressure_squares_it():
    plain = Quadratics(0.0).problem(5.0, 0.0)
    by_hand = plain.squared_weights * plain.gradient_variance + 6 * 3.0 * plain.heterogeneity + 8 * 4 * 5.0
    assert corrected_noise(plain) == pytest.approx(by_hand)
    for rho in (0.3, 0.8):
        assert corrected_noise(Quadratics(rho).problem(5.0, rho)) == pytest.approx((1 + rho) ** 2 * by_hand)
        assert Quadratics(rho).problem(5.0, rho).longest_step == pytest.approx(1 / (12 * (1 + rho)))


def test_the_printed_noise_makes_no_rate_where_clients_differ():
    """eta^2 xi is then of the order of eta: the printed bound does not vanish, the corrected one does."""
    world = Quadratics(0.5)
    problem, gamma = world.problem(5.0, 0.5), theorem_schedule(world.problem(5.0, 0.5)).gamma
    printed = [published_bound(problem, steps, 1.0, gamma) for steps in (10**4, 10**6, 10**8)]
    corrected = [corrected_bound(problem, steps, 1.0) for steps in (10**4, 10**6, 10**8)]
    beta = 2 / problem.flattest
    floor = problem.smoothness / 2 * 4 * 2 * problem.heterogeneity / beta / problem.flattest**2
    assert printed[-1] == pytest.approx(floor, rel=1e-3)
    assert corrected[-1] < 1e-2 * corrected[0] < 1e-2 * printed[0]
    by_hand = 8 * 4 * 5.0 + 12 * problem.heterogeneity + 2 * 0.7 / 0.1
    by_hand += 4 * problem.squared_weights * problem.gradient_variance
    assert published_noise(problem, 0.1, 0.7) == pytest.approx(by_hand)
    assert personal_rate(5, 100) == 0.25
    assert published_rate(1, 100) == 0


def test_pressure_is_the_share_of_the_largest_lambda():
    groups = ClientGroups((0, 0, 1, 2), (0.1, 0.2, 0.3, 0.4), tuple("abc"))
    assert pressure_of(groups, 0.05) == pytest.approx(0.05 * 2 / min(0.2, 0.4, 0.3, 0.4))
    assert pressure_of(ClientGroups((0, 0), (0.5, 0.5), ("a",)), 3.0) == 0


def test_what_has_no_bound_is_refused():
    for values, says in (
        ({"pressure": 1.0, "smoothness": 1.0}, r"pressure must be in \[0, 1\), got 1"),
        ({"pressure": 0.0, "smoothness": 0.0}, "smoothness must be above 0"),
        ({"pressure": 0.0, "smoothness": 1.0, "local_steps": 0}, "local_steps must be at least 1, got 0"),
    ):
        with pytest.raises(ConfigError, match=says):
            FairProblem(**values)
    flat = FairProblem(smoothness=1.0, pressure=0.0)
    with pytest.raises(ConfigError, match="convexity must be above 0"):
        corrected_bound(flat, 10, 1.0)
    with pytest.raises(ConfigError, match="step must be above 0, got 0"):
        published_noise(flat, 0.0)
