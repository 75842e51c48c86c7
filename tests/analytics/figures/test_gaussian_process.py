"""Do figures of Gaussian processes show every client's rows, mean and bands?"""

import numpy as np
import pytest

from unalike.analytics.figures.gaussian_process import calibration_curve, prediction_bands
from unalike.analytics.gaussian_process import GaussianProcess
from unalike.data import Federation
from unalike.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 5, (80, 1))
    y = 100 + np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=80)
    pairs = {name: (x[k::2], y[k::2]) for k, name in enumerate(("one", "two"))}
    return GaussianProcess(rounds=20, learning_rate=0.1).fit(
        Federation.from_clients(pairs, test_fraction=0.4)
    )


def test_a_panel_has_the_clients_rows_in_its_units_and_a_band_around_its_mean(fitted):
    picture = prediction_bands(fitted)
    assert [axes.get_title(loc="left") for axes in picture.axes] == ["one", "two"]
    mean, points = picture.axes[0].lines
    _, y = fitted.rows("one")
    np.testing.assert_allclose(points.get_ydata(), y)
    np.testing.assert_allclose(mean.get_ydata(), fitted.predict(mean.get_xdata()[:, None], "one"))
    band = picture.axes[0].collections[0].get_paths()[0].vertices
    assert band[:, 1].min() < mean.get_ydata().min() < mean.get_ydata().max() < band[:, 1].max()


def test_the_calibration_grows_with_the_level_and_is_near_it(fitted):
    levels, share = calibration_curve(fitted).axes[0].lines[-1].get_data()
    assert (np.diff(share) >= 0).all()
    assert np.abs(share - levels).max() < 0.35


def test_what_cannot_be_drawn_is_refused(fitted):
    with pytest.raises(ConfigError, match="no input 3"):
        prediction_bands(fitted, input=3)
    with pytest.raises(ConfigError, match="at least one client"):
        prediction_bands(fitted, clients=[])
    with pytest.raises(DataError, match="no client has rows"):
        calibration_curve(fitted, "validation")
    with pytest.raises(ConfigError, match="unknown part"):
        calibration_curve(fitted, "tests")
