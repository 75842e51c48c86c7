"""Do intervals, tests and predictions of HM2 mean what they say?"""

import numpy as np
import pytest

from unalike.analytics.design import Design
from unalike.analytics.hierarchical import HM2, DevicePosterior
from unalike.analytics.hierarchical.device_posterior import compose
from unalike.analytics.run_facts import collinear_terms
from unalike.data import Federation
from unalike.errors import DataError
from unalike_studies.linear_models.central_sampling import sample_population

from .designs import drawn_from_a_population

MEAN, VARIANCE = (1.0, -0.5, 0.0), (0.8, 0.3, 0.05)


@pytest.fixture(scope="module")
def fitted():
    design, truth = drawn_from_a_population(25, MEAN, VARIANCE, rows=20, seed=1)
    return HM2(rounds=20).fit(design), truth


def test_composed_draws_have_the_moments_of_the_conjugate_posterior():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    mu, tau = np.tile([0.5, -0.5], (40_000, 1)), np.tile([0.2, 0.9], (40_000, 1))
    draws = compose(x.T @ x, x.T @ y, np.asarray(0.4), mu, tau, rng)
    covariance = np.linalg.inv(x.T @ x / 0.4 + np.diag(1 / tau[0]))
    np.testing.assert_allclose(draws.mean(axis=0), covariance @ (x.T @ y / 0.4 + mu[0] / tau[0]), atol=0.01)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.01)


def test_devices_are_shrunk_towards_the_population_and_closer_to_the_truth(fitted):
    model, truth = fitted
    own = np.stack([np.linalg.lstsq(*model.design.client(i), rcond=None)[0] for i in range(25)])
    found = model.device_params()
    assert np.linalg.norm(found - model.params) < np.linalg.norm(own - model.params)
    assert np.linalg.norm(found - truth) < 0.97 * np.linalg.norm(own - truth)
    posterior = np.stack([model.device_posterior(i).mean for i in range(25)])
    np.testing.assert_allclose(posterior, found, atol=0.06)


def test_nine_in_ten_intervals_hold_the_truth(fitted):
    model, truth = fitted
    held = []
    for i in range(25):
        lower, upper = model.device_posterior(i).interval(0.9).T
        held.append((lower < truth[i]) & (truth[i] < upper))
    assert 0.8 < np.mean(held) < 0.99
    assert model.variances[0] > model.variances[2]
    assert model.heterogeneity(0.3)[2] > 0.9


def test_devices_share_draws_of_the_population_so_that_they_can_be_subtracted(fitted):
    model, _ = fitted
    nobody = model.device_posterior(3).minus(model.device_posterior(3))
    np.testing.assert_array_equal(nobody.draws, 0)
    assert not model.difference(0, 0, "x1").rejected
    one, other = (model.test(i, "x1") for i in (0, 1))
    gap = model.difference(0, 1, [1.0, 0.0, 0.0])
    assert gap.estimate == pytest.approx(one.estimate - other.estimate)
    assert gap.lower < gap.estimate < gap.upper


def test_predictive_intervals_hold_new_responses(fitted):
    model, truth = fitted
    rng = np.random.default_rng(9)
    x = rng.normal(size=(400, 3))
    y = x @ truth[4] + rng.normal(size=400)
    lower, upper = model.device_posterior(4).predictive_interval(x, 0.9).T
    assert 0.8 < np.mean((lower < y) & (y < upper)) < 0.97
    mean, std = model.predict(x, 4, return_std=True)
    np.testing.assert_allclose((upper - lower) / (2 * 1.645 * std), 1, atol=0.12)
    np.testing.assert_array_equal(mean, model.predict(x, 4))


def test_a_new_device_begins_at_the_mean_of_all_and_learns_from_few_rows(fitted):
    model, _ = fitted
    np.testing.assert_allclose(model.start_of(np.zeros((0, 3)), np.zeros(0)), model.params)
    np.testing.assert_allclose(model.new_device().mean, model.params, atol=0.1)
    rng = np.random.default_rng(3)
    truth = np.asarray(MEAN) + np.sqrt(VARIANCE) * rng.normal(size=(200, 3))
    errors = []
    for theta in truth:
        x = rng.normal(size=(2, 3))
        y = x @ theta + rng.normal(size=2)
        errors.append([np.linalg.norm(e - theta) for e in (model.start_of(x, y), model.params)])
    with_rows, without = np.mean(errors, axis=0)
    assert with_rows < without < np.mean(np.linalg.norm(truth, axis=1))


def test_devices_with_fewer_rows_than_coefficients_have_finite_intervals():
    rng = np.random.default_rng(0)
    sizes = np.array([2, 2, 1, 30, 30, 30, 30, 30])
    owners = np.repeat(np.arange(8), sizes)
    x = rng.normal(size=(len(owners), 4))
    y = x @ np.ones(4) + rng.normal(size=len(owners))
    data = Design.of(Federation.from_owners(x, y, owners, classes=None), intercept=False)
    model = HM2(rounds=20).fit(data)
    widths = np.ptp(model.device_posterior(2).interval(0.9), axis=1)
    assert np.isfinite(widths).all()
    assert np.abs(model.params - 1).max() < 0.4
    assert "one model" not in str(model.summary())


def test_where_nobody_has_rows_enough_to_tell_the_noise_it_is_one():
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(30), 2)
    x = rng.normal(size=(60, 3))
    y = x @ np.array([1.0, -1.0, 0.0]) + rng.normal(size=60)
    data = Design.of(Federation.from_owners(x, y, owners, classes=None), intercept=False)
    model = HM2(rounds=12).fit(data)
    assert np.abs(model.params - [1, -1, 0]).max() < 0.6
    np.testing.assert_allclose(model.phi_mean, HM2(rounds=12, noise=1.0).fit(data).phi_mean, atol=0.05)


def test_devices_with_too_few_rows_to_be_heard_change_nothing():
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(5), [20, 20, 20, 20, 6])
    x = rng.normal(size=(len(owners), 2))
    y = x @ np.array([1.0, -1.0]) + rng.normal(size=len(owners))
    told = []
    for shift in (0.0, 100.0):
        moved = np.where(owners == 4, y + shift * x[:, 0], y)
        data = Design.of(Federation.from_owners(x, moved, owners, classes=None), intercept=False)
        told.append(HM2(rounds=5, minimum_rows=10).fit(data))
    np.testing.assert_array_equal(told[0].phi_mean, told[1].phi_mean)
    assert told[1].device_posterior(4).mean[0] > 50


def test_one_device_alone_has_the_posterior_of_its_own_rows():
    design, _ = drawn_from_a_population(1, (1.0, -0.5), (0.5, 0.5), rows=60, seed=2)
    model = HM2(rounds=40).fit(design)
    draws = sample_population(design, 1500)
    assert np.abs((model.phi_mean - draws.mean(axis=0)) / draws.std(axis=0)).max() < 0.3


def test_a_column_that_says_the_same_is_named_and_does_no_harm():
    design, _ = drawn_from_a_population(6, (1.0, -1.0), (0.3, 0.3), rows=15)
    x = design.federation.train.x
    double = np.column_stack([x, x[:, 0]])
    data = Federation.from_owners(
        double, design.federation.train.y, np.repeat(np.arange(6), 15), classes=None
    )
    model = HM2(rounds=8).fit(Design.of(data, intercept=False))
    assert collinear_terms(model.design) == ("x3",)
    assert "collinear" in str(model.summary())
    assert np.isfinite(model.conf_int()).all()


def test_a_response_that_never_varies_is_refused():
    data = Federation.from_owners(np.eye(4), np.ones(4), np.array([0, 0, 1, 1]), classes=None)
    with pytest.raises(DataError, match="never varies"):
        HM2().fit(data)


def test_the_summary_has_estimates_components_rows_rounds_and_bytes(fitted):
    text = str(fitted[0].summary())
    for word in ("std. error", "variance components", "rows per client", "rounds", "bytes from clients"):
        assert word in text
    assert "tabular" in fitted[0].summary().as_latex()


def test_a_contrast_is_by_name_or_by_weights():
    draws = np.random.default_rng(0).normal([2.0, 2.0], 0.1, size=(2000, 2))
    posterior = DevicePosterior(draws, ("a", "b"))
    assert posterior.test("a") == posterior.test([1, 0])
    assert posterior.test("a").rejected
    assert not posterior.test([1, -1]).rejected


@pytest.mark.parametrize("seed", [0, 1])
def test_intervals_of_few_devices_are_as_wide_as_the_exact_posterior(seed):
    """With eight devices the variance between them is hardly known, and normal intervals are too short."""
    design, _ = drawn_from_a_population(8, (1.0, 0.5, -0.5), (1.2, 2.0, 0.7), rows=20, seed=seed)
    model = HM2(rounds=20).fit(design)
    draws = sample_population(design, 3000, seed)[:, :3]
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    widths = np.diff(model.conf_int(0.9), axis=1)[:, 0] / (high - low)
    np.testing.assert_allclose(widths, 1, atol=0.06)
    assert np.all(2 * 1.6449 * model.bse / (high - low) < 0.97)


def test_intervals_of_many_devices_are_nearly_normal(fitted):
    model, _ = fitted
    normal = 2 * 1.6449 * model.bse
    wider = np.diff(model.conf_int(0.9), axis=1)[:, 0] / normal
    assert np.all((wider > 1) & (wider < 1.06))
    assert np.all(model.degrees_of_freedom > 10)


def test_a_summary_says_how_often_intervals_hold_the_truth(fitted):
    assert "of those of 90 % held the truth" in str(fitted[0].summary())
