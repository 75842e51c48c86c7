"""Are the constants of a federation those of an independent computation, and do the bounds use them?"""

import math
from dataclasses import replace

import numpy as np
import pytest

from unalike import ConfigError
from unalike.advice import GradientConstants, ProbeSettings, measure_gradient_constants, report_methods
from unalike.advice.measure_constants import smoothness_bound
from unalike.data import Federation, Split
from unalike.models import Task, linear, mlp
from unalike.participation import Full, Uniform

CLASSES, FEATURES, L2 = 3, 4, 0.1
TASK = Task.classification(linear(input_shape=(FEATURES,), outputs=CLASSES), CLASSES, l2=L2)
LOOK = ProbeSettings(rounds=2, batches=3, batch_size=4)


def federation(sizes=(9, 14, 6), alike=False):
    rng = np.random.default_rng(5)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x = rng.normal(size=(offsets[-1], FEATURES)).astype(np.float32)
    y = rng.integers(0, CLASSES, offsets[-1]).astype(np.int32)
    if alike:
        size = sizes[0]
        x, y = np.tile(x[:size], (len(sizes), 1)), np.tile(y[:size], len(sizes))
    split = Split(x, y, offsets)
    return Federation(split, Split(x[:0], y[:0], np.zeros_like(offsets)), split, CLASSES)


@pytest.fixture(scope="module")
def measured():
    return measure_gradient_constants(federation(), TASK, LOOK)


def loss_and_gradient(theta, x, y):
    rows = np.hstack([x, np.ones((len(x), 1))])
    scores = np.exp(rows @ theta)
    chances = scores / scores.sum(1, keepdims=True)
    value = -np.log(chances[np.arange(len(y)), y]).mean() + L2 / 2 * (theta**2).sum()
    return value, rows.T @ (chances - np.eye(CLASSES)[y]) / len(x) + L2 * theta


def least(parts):
    """The least weighted mean loss, by plain gradient descent for a long time."""
    theta = np.zeros((FEATURES + 1, CLASSES))
    for _ in range(3000):
        theta = theta - 0.3 * sum(p * loss_and_gradient(theta, *part)[1] for p, part in parts)
    return sum(p * loss_and_gradient(theta, *part)[0] for p, part in parts)


def test_heterogeneity_is_the_least_loss_of_all_minus_each_ones_own(measured):
    parts = [(p, federation().train.client(i)) for i, p in enumerate(federation().importance)]
    gamma = least(parts) - sum(p * least([(1.0, part)]) for p, part in parts)
    assert measured.heterogeneity == pytest.approx(gamma, abs=1e-5)
    assert measured.initial_gap == pytest.approx(math.log(CLASSES) - least(parts), abs=1e-5)


def test_whole_clients_as_batches_leave_only_what_pulls_clients_apart():
    """Without noise, Sigma is sum_i p_i |grad f_i(w*)|^2: for clients that are alike, nothing."""
    whole = ProbeSettings(rounds=0, batches=1, batch_size=20)
    alike = measure_gradient_constants(federation((9, 9, 9), alike=True), TASK, whole)
    apart = measure_gradient_constants(federation(), TASK, whole)
    assert alike.residual == pytest.approx(0, abs=1e-6)
    assert apart.residual > 1e-3
    assert apart.initial_distance > 0


def test_clients_with_the_same_rows_are_not_unlike():
    same = measure_gradient_constants(federation((8, 8, 8), alike=True), TASK, LOOK)
    assert same.heterogeneity == pytest.approx(0, abs=1e-6)
    assert same.dissimilarity == pytest.approx(0, abs=1e-10)
    assert same.optima_distance == pytest.approx(0, abs=1e-2)


def test_dissimilarity_at_the_start_is_the_spread_of_gradients():
    found = measure_gradient_constants(federation(), TASK, ProbeSettings(rounds=0, batches=1))
    share = federation().importance
    start = np.zeros((FEATURES + 1, CLASSES))
    gradients = np.array([loss_and_gradient(start, *federation().train.client(i))[1] for i in range(3)])
    spread = share @ (gradients**2).sum((1, 2)) - ((share @ gradients.reshape(3, -1)) ** 2).sum()
    assert found.dissimilarity == pytest.approx(spread, rel=1e-4)


def test_both_pairs_of_dissimilarity_and_growth_fit_and_the_smaller_bound_is_taken(measured):
    """At the optimum kappa^2 is the spread of gradients there, which Sigma has beside the noise."""
    plain, grown = measured.dissimilarities()
    assert plain == (1, measured.dissimilarity)
    assert grown.floor <= min(plain.floor, measured.residual)
    assert grown.growth >= 1
    statistics = Uniform(per_round=1).statistics(np.full(3, 1 / 3))
    alone = [
        replace(measured, dissimilarity=plain.floor, dissimilarity_at_optimum=None),
        replace(measured, dissimilarity=1e9),
    ]
    bounds = [one.sampling_bound(statistics, 1e-3, 2, 100).total for one in (measured, *alone)]
    assert bounds[0] == min(bounds)
    assert bounds[0] in bounds[1:]


def test_whole_batches_have_no_variance_and_the_largest_gradient():
    found = measure_gradient_constants(federation(), TASK, ProbeSettings(rounds=0, batches=1, batch_size=14))
    start = np.zeros((FEATURES + 1, CLASSES))
    squares = [(loss_and_gradient(start, *federation().train.client(i))[1] ** 2).sum() for i in range(3)]
    assert found.gradient_variance == pytest.approx(0, abs=1e-10)
    assert found.squared_gradient == pytest.approx(max(squares), rel=1e-4)


def test_the_proved_smoothness_is_above_every_curvature(measured):
    assert measured.smoothness_is_bound
    assert measured.convexity == L2
    rng = np.random.default_rng(0)
    for i in range(3):
        part = federation().train.client(i)
        for _ in range(20):
            a, b = rng.normal(size=(2, FEATURES + 1, CLASSES))
            change = loss_and_gradient(a, *part)[1] - loss_and_gradient(b, *part)[1]
            assert np.linalg.norm(change) <= measured.smoothness * np.linalg.norm(a - b) + 1e-9


def test_the_largest_curvature_of_least_squares_is_exact():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(12, 3)).astype(np.float32)
    split = Split(x, x[:, :1] + 1, np.array([0, 5, 12]))
    clients = Federation(split, Split(x[:0], x[:0, :1], np.zeros(3, np.int64)), split, None)
    task = Task.regression(linear(input_shape=(3,), outputs=1))
    found = measure_gradient_constants(clients, task, ProbeSettings(rounds=0))
    wide = np.hstack([x, np.ones((12, 1))])
    curvatures = [np.linalg.eigvalsh(part.T @ part / len(part))[-1] for part in (wide[:5], wide[5:])]
    ratio = found.smoothness / max(curvatures)  # 1 for halved squared errors, 2 for whole ones
    assert ratio == pytest.approx(round(ratio), rel=1e-3)
    assert round(ratio) in (1, 2)
    assert not found.smoothness_is_bound


def test_a_model_that_is_not_convex_promises_nothing():
    task = Task.classification(mlp(3, input_shape=(FEATURES,), outputs=CLASSES), CLASSES, l2=L2)
    assert smoothness_bound(federation(), task) is None
    found = measure_gradient_constants(federation(), task, ProbeSettings(rounds=0, batches=1))
    assert found.convexity == 0
    assert found.smoothness > 0
    assert all(report.gap_bound is None for report in report_methods(found, 0.01, 5, 10))


def test_no_more_clients_are_measured_than_asked_for():
    assert (
        measure_gradient_constants(federation(), TASK, ProbeSettings(rounds=0, most_clients=2)).clients == 2
    )


def test_bounds_of_sampling_and_timing_use_the_constants(measured):
    everyone, few = Full().statistics(np.full(3, 1 / 3)), Uniform(per_round=1).statistics(np.full(3, 1 / 3))
    full, drawn = (measured.sampling_bound(s, 1e-3, 2, 100).total for s in (everyone, few))
    assert full < drawn
    goal = measured.timing_goal()
    assert goal.conditioning == pytest.approx(measured.smoothness / L2)
    assert goal.unlike == measured.optima_distance


def test_longer_steps_than_the_theorems_allow_have_no_bound(measured):
    short, long = (report_methods(measured, rate, 5, 10)[0] for rate in (1e-3, 100.0))
    assert math.isfinite(short.gap_bound)
    assert short.gap_bound > 0
    assert long.gap_bound == math.inf
    assert long.as_dict()["gap_bound"] is None


def test_impossible_looks_are_refused():
    for settings in ({"batch_size": 0}, {"rounds": -1}, {"learning_rate": 0.0}):
        with pytest.raises(ConfigError):
            ProbeSettings(**settings)
    nobody = federation((0, 0, 0))
    with pytest.raises(ConfigError, match="no client"):
        measure_gradient_constants(nobody.with_importance("equal"), TASK, LOOK)


def test_constants_are_ready_for_machines(measured):
    assert GradientConstants(**measured.as_dict()) == measured
