"""Are series scaled as each reading says, and is the script's HM1 gradient descent?"""

import numpy as np
import pytest

from unalike_studies.linear_models import script_readings
from unalike_studies.linear_models.full_batch import Spectra
from unalike_studies.linear_models.script_readings import (
    OWN,
    SCORES,
    TRAINING,
    design_of,
    noise_of,
    script_hm1,
)


@pytest.fixture
def engines(monkeypatch):
    rng = np.random.default_rng(0)
    tables = {
        f"engine {k}": {"cycle": np.arange(1.0, n + 1), "sensor2": 600 + k + rng.normal(size=n).cumsum()}
        for k, n in enumerate((50, 80))
    }
    monkeypatch.setattr(script_readings, "load_tables", lambda _: tables)
    return tables


def test_every_part_has_the_range_of_its_reading(engines):
    for (_, early), (_, late) in script_readings.scaled_series(2, OWN):
        assert (early.min(), early.max(), late.min(), late.max()) == (0, 1, 0, 1)
    for (_, early), (_, late) in script_readings.scaled_series(2, TRAINING):
        assert (early.min(), early.max()) == (0, 1)
        assert np.ptp(late) != pytest.approx(1)
    seen = np.concatenate([early for (_, early), _ in script_readings.scaled_series(2, SCORES)])
    assert (seen.mean(), seen.std()) == (pytest.approx(0), pytest.approx(1))


def test_the_first_three_fifths_train_with_powers_of_time(engines):
    design = design_of(script_readings.scaled_series(2, OWN))
    assert design.federation.train.sizes.tolist() == [30, 48]
    assert design.federation.test.sizes.tolist() == [20, 32]
    x, _ = design.client(0)
    np.testing.assert_allclose(x[5], (5 / 299) ** np.arange(7.0))


def test_the_scripts_hm1_is_descent_on_sums_with_a_prior_once_a_round(engines):
    design = design_of(script_readings.scaled_series(2, OWN))
    found = script_hm1(Spectra.of(design, summed=True), 1e-3)
    models, covariance = np.zeros((2, 7)), np.eye(2)
    for _ in range(script_readings.ROUNDS):
        floor = 1e-6 * np.trace(covariance) / 2 * np.eye(2)
        pull = 2e-3 * np.linalg.solve(covariance + floor, models)
        for k in range(2):
            x, y = design.client(k)
            for _ in range(script_readings.STEPS):
                models[k] += 2e-3 * x.T @ (y - x @ models[k])
        models = models - pull
        covariance = 0.8 * covariance + 0.8 / 7 * models @ models.T
    np.testing.assert_allclose(found, models, atol=1e-8)


def test_noise_by_second_differences():
    rng = np.random.default_rng(1)
    assert noise_of(np.linspace(0, 5, 4000) + 0.3 * rng.normal(size=4000)) == pytest.approx(0.3, rel=0.05)
