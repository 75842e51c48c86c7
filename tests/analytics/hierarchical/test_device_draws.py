"""Does a device draw its own coefficients as a simulation draws them for it?"""

import numpy as np
import pytest

from unalike.analytics.design import Design
from unalike.analytics.hierarchical.device_draws import draw_at_device, draw_ridge
from unalike.analytics.hierarchical.hm1_rounds import HM1Rounds
from unalike.analytics.hierarchical.penalized import PenalizedRegression
from unalike.data import Federation
from unalike.errors import ConfigError


def test_a_device_draws_what_a_simulation_draws_for_it():
    rng = np.random.default_rng(0)
    x, owners = rng.normal(size=(60, 2)), np.arange(60) % 2
    data = Federation.from_owners(x, x[:, 0] + rng.normal(size=60), owners, classes=None)
    fitted = PenalizedRegression(prior="ridge", rounds=2).fit(Design.of(data, intercept=False))
    rows = fitted.design.client(1)
    drawn = draw_at_device(fitted.run.setting.algorithm, fitted.run.message, {}, *rows)
    np.testing.assert_array_equal(drawn, fitted.device_posterior(1).draws)


def test_a_device_that_has_sampled_remembers():
    kept, rows = np.arange(6.0).reshape(3, 2), (np.zeros((4, 2)), np.zeros(4))
    assert draw_at_device(HM1Rounds(), {}, {"draws": kept}, *rows) is kept
    with pytest.raises(ConfigError, match="draws no coefficients"):
        draw_at_device(HM1Rounds(), {}, {}, *rows)


def test_without_rows_the_draws_are_those_of_the_prior():
    phi, precision = np.log([4.0, 2.0]), 1e8 * np.eye(2)
    drawn = draw_ridge(precision @ phi, precision, np.zeros((0, 3)), np.zeros(0), draws=20_000)
    np.testing.assert_allclose(drawn.std(axis=0), np.sqrt(2.0 / 4.0), rtol=0.03)
