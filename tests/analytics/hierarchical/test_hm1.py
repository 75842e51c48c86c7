"""Does HM1 follow the gradient of its posterior, stay regular, and help devices with few rows?"""

import numpy as np
import pytest

from unalike.analytics.design import Design
from unalike.analytics.hierarchical import HM1
from unalike.analytics.hierarchical.baselines import (
    dis_ridge,
    ditto,
    fedavg,
    ols_each,
    params_of,
    pooled_ols,
    ridge_each,
    separate,
)
from unalike.data import Federation
from unalike.errors import ConfigError

from .designs import related


def objective(design, models, covariance, noise):
    """Minus twice the log posterior, as it is written."""
    fit = 0.0
    for k, model in enumerate(models):
        x, y = design.client(k)
        fit += np.sum((y - x @ model) ** 2) / noise
    penalty = np.trace(models.T @ np.linalg.solve(covariance, models))
    return fit + penalty + models.shape[1] * np.linalg.slogdet(covariance)[1]


def naive_rounds(design, rounds, steps, rate, damping, prior_rate, summed=False):
    """HM1 from zeros with full steps, by the book and without vectors over devices."""
    devices, width = len(design), len(design.terms)
    models, covariance = np.zeros((devices, width)), np.eye(devices)
    for _ in range(rounds):
        regular = covariance + 1e-8 * np.trace(covariance) / devices * np.eye(devices)
        pull = np.linalg.inv(regular) @ models
        for k in range(devices):
            x, y = design.client(k)
            for _ in range(steps):
                models[k] = models[k] + 2 * rate * x.T @ (y - x @ models[k]) / (1 if summed else len(y))
            models[k] = models[k] - 2 * prior_rate(len(y)) * pull[k]
        covariance = (1 - damping) * covariance + damping / width * models @ models.T
    return models, covariance


def test_one_full_step_moves_along_the_gradient_of_the_log_posterior():
    design, _ = related()
    rate, noise = 0.02, 0.25
    settings = {"learning_rate": rate, "batch_size": 0, "local_steps": 1, "noise": noise, "in_loop": False}
    before = HM1(rounds=1, **settings).fit(design)
    after = HM1(rounds=2, **settings).fit(design)
    start, covariance = before.params, before.device_covariance
    gradient = np.zeros_like(start)
    for index in np.ndindex(*start.shape):
        step = np.zeros_like(start)
        step[index] = 1e-5
        up, down = (objective(design, start + s * step, covariance, noise) for s in (1, -1))
        gradient[index] = (up - down) / 2e-5
    rows = design.federation.train.sizes[:, None]
    np.testing.assert_allclose(after.params - start, -rate * noise / rows * gradient, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("shrinkage", "rate", "prior_rate"),
    [("printed", 0.002, lambda rows: 0.002), ("map", 0.02, lambda rows: 0.02 * 4 * 0.25 / rows)],
)
def test_rounds_are_those_of_a_naive_implementation(shrinkage, rate, prior_rate):
    """As printed (Yue, 2023, algorithm 3.1), the data step is a sum over rows."""
    design, _ = related()
    model = HM1(
        rounds=6, local_steps=4, batch_size=0, learning_rate=rate, noise=0.25, start="zeros",
        shrinkage=shrinkage, in_loop=False,
    ).fit(design)  # fmt: skip
    models, covariance = naive_rounds(design, 6, 4, rate, 0.1, prior_rate, summed=shrinkage == "printed")
    np.testing.assert_allclose(model.params, models, rtol=1e-9)
    np.testing.assert_allclose(model.device_covariance, covariance, rtol=1e-9)


def test_a_factor_of_full_rank_is_the_whole_covariance():
    design, _ = related()
    whole, factored = (HM1(rounds=5, rank=rank, start="zeros").fit(design) for rank in (None, 6))
    np.testing.assert_allclose(factored.device_covariance, whole.device_covariance, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(factored.params, whole.params, rtol=1e-6, atol=1e-7)


def test_a_factor_that_holds_what_rounds_have_added_is_exact():
    design, _ = related(devices=12, width=2)
    rounds = 3  # which add at most two directions each
    whole, factored = (HM1(rounds=rounds, rank=rank, start="zeros").fit(design) for rank in (None, 6))
    np.testing.assert_allclose(factored.device_covariance, whole.device_covariance, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("damping", [0.1, 0.5, 0.9, 1.0])
def test_the_covariance_stays_positive_with_more_devices_than_coefficients(damping):
    design, _ = related(devices=20, width=2)
    model = HM1(rounds=25, damping=damping).fit(design)
    covariance = model.device_covariance
    np.testing.assert_array_equal(covariance, covariance.T)
    floor = (1e-6 if damping >= 0.5 else 1e-8) * np.trace(covariance) / 20
    assert np.linalg.eigvalsh(covariance + floor * np.eye(20))[0] > 0
    assert np.isfinite(model.params).all()


def test_few_rows_of_related_devices_are_better_used_together():
    errors = []
    for seed in range(3):
        design, truth = related(20, 6, 0.95, noise=1.0, rows=(9, 9), seed=seed)
        found = HM1(rounds=30, learning_rate=0.05, batch_size=0, noise=1.0, start="zeros").fit(design).params
        errors.append([np.linalg.norm(e - truth, axis=1).mean() for e in (found, ols_each(design))])
    hm1, ols = np.mean(errors, axis=0)
    assert hm1 < 0.75 * ols


def test_baselines_are_their_closed_forms_and_many_steps_alone_are_least_squares():
    design, _ = related(devices=3)
    x, y = design.client(1)
    eye = np.eye(3)
    np.testing.assert_allclose(ridge_each(design, 2.0)[1], np.linalg.solve(x.T @ x + 2 * eye, x.T @ y))
    alone = [
        np.linalg.solve(a.T @ a / len(b) + 0.1 * eye, a.T @ b / len(b))
        for a, b in map(design.client, range(3))
    ]
    np.testing.assert_allclose(dis_ridge(design, 0.1)[2], np.mean(alone, axis=0))
    np.testing.assert_allclose(params_of(separate(design, 20, 50, 0.1)), ols_each(design), atol=1e-3)
    whole = params_of(fedavg(design, 60, 1, 0.1))
    assert np.ptp(whole, axis=0).max() == 0
    near = params_of(ditto(design, 60, 5, 0.05, lam=9.0))
    own, pooled = ols_each(design), pooled_ols(design)
    assert np.linalg.norm(near - whole) < np.linalg.norm(own - whole)
    assert pooled.shape == own.shape


def test_what_cannot_work_is_refused():
    design, _ = related()
    with pytest.raises(ConfigError, match="would diverge"):
        HM1(learning_rate=5.0).fit(design)
    with pytest.raises(ConfigError, match="validation rows"):
        HM1(shrinkage="tuned").fit(design)
    with pytest.raises(ConfigError, match="did you mean 'printed'"):
        HM1(shrinkage="print").fit(design)
    with pytest.raises(ConfigError, match="fit"):
        HM1().params  # noqa: B018
    with pytest.raises(ConfigError, match="damping"):
        HM1().set_params(dampin=1)


def test_an_intercept_is_not_shrunk_and_a_tuned_strength_is_chosen_on_validation_rows():
    rng = np.random.default_rng(0)
    x, owners = rng.normal(size=(120, 2)), np.arange(120) % 4
    y = 50 + x @ np.array([1.0, 2.0]) + 0.3 * rng.normal(size=120)
    data = Federation.from_owners(x, y, owners, classes=None, validation_fraction=0.2, test_fraction=0.2)
    model = HM1(rounds=20, shrinkage="tuned", learning_rate=0.1, start="zeros").fit(Design.of(data))
    assert np.abs(model.params[:, 0] - 50).max() < 1
    assert model.rmse() < 1
    text = str(model.summary())
    assert "Intercept" in text
    assert "rounds" in text


def test_the_printed_step_without_a_rate_is_stable_and_a_small_batch_has_its_own():
    design, _ = related()
    for batch in (0, 4):
        model = HM1(rounds=10, batch_size=batch, shrinkage="printed", start="zeros").fit(design)
        assert np.isfinite(model.params).all()
        assert np.abs(model.params).max() < 10
