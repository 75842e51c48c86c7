"""Does the estimator predict in clients' own units, adapt without training, and refuse what it cannot use?"""

from typing import NamedTuple

import numpy as np
import pytest

from unalike.analytics.design import Design
from unalike.analytics.gaussian_process import GaussianProcess
from unalike.analytics.gaussian_process.calibration import coverage
from unalike.analytics.gaussian_process.scaling import InputScaling, OutputScaling, scale_design
from unalike.data import Federation
from unalike.errors import ConfigError, DataError

QUICK = {"rounds": 40, "learning_rate": 0.1}


class Units(NamedTuple):
    sign: float
    offset: float
    scale: float


CLIENTS = {"plus": Units(1.0, 0.0, 1.0), "minus": Units(-1.0, 500.0, 20.0)}


def wave(x, units):
    return units.offset + units.scale * units.sign * np.sin(x[:, 0])


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    rows = {}
    for name, units in CLIENTS.items():
        train, test = rng.uniform(0, 10, (60, 1)), rng.uniform(0, 10, (200, 1))
        noisy = [wave(x, units) + 0.1 * units.scale * rng.normal(size=len(x)) for x in (train, test)]
        rows[name] = {"train": (train, noisy[0]), "test": (test, noisy[1])}
    return GaussianProcess(**QUICK).fit(Federation.from_clients(rows))


@pytest.mark.parametrize("name", CLIENTS)
def test_opposite_clients_each_have_their_own_function_in_their_own_units(fitted, name):
    x, units = np.linspace(0.5, 9.5, 50)[:, None], CLIENTS[name]
    mean, std = fitted.predict(x, name, return_std=True)
    assert np.sqrt(np.mean((mean - wave(x, units)) ** 2)) < 0.1 * units.scale
    assert 0.05 * units.scale < std.mean() < 0.2 * units.scale
    assert (fitted.predict(x, name, return_std=True, noisy=False)[1] < std).all()
    assert fitted.score(x, wave(x, units), name) > 0.98


def test_intervals_hold_as_much_as_they_say(fitted):
    for found in fitted.accuracy(level=0.9).values():
        assert found.rows == 200
        assert 0.8 < found.coverage < 0.98


def test_a_client_that_was_not_there_predicts_after_seeing_its_rows(fitted):
    units = Units(1.0, -3.0, 0.5)
    x = np.linspace(0, 10, 30)[:, None]
    process = fitted.adapt(x, wave(x + 1, units))
    assert abs(process.predict([[4.0]])[0] - wave(np.array([[5.0]]), units)[0]) < 0.05
    prior = fitted.adapt(np.zeros((0, 1)), [])
    mean, std = prior.predict([[3.0]], return_std=True)
    assert mean[0] == 0
    assert std[0] == pytest.approx(
        np.hypot(fitted.hyper_parameters["signal"], fitted.hyper_parameters["noise"])
    )


def test_the_summary_shows_deviations_variances_and_losses(fitted):
    words = str(fitted.summary())
    assert "numbers sent by a client per round 3" in " ".join(words.split())
    noise = fitted.hyper_parameters["noise"]
    assert f"{noise:.4g}" in words
    assert f"{noise**2:.4g}" in words
    assert all(after < before for _, _, before, after in fitted.client_losses())


def test_settings_are_those_of_scikit_learn(fitted):
    again = GaussianProcess(**fitted.get_params())
    assert again.set_params(rounds=3).rounds == 3
    with pytest.raises(ConfigError, match="did you mean 'rounds'"):
        again.set_params(round=3)
    with pytest.raises(ConfigError, match="call fit first"):
        again.predict([[1.0]], 0)
    with pytest.raises(ConfigError, match="no client 'mine'"):
        fitted.predict([[1.0]], "mine")


def test_a_design_with_an_intercept_is_taken_without_it():
    rows = Federation.from_owners(
        np.random.default_rng(0).random((20, 2)), np.arange(20.0), np.repeat([0, 1], 10)
    )
    scaled = scale_design(Design.of(rows), None)
    assert scaled.design.terms == ("x1", "x2")
    assert scaled.design.federation.train.x.min() == 0
    assert scaled.design.federation.train.x.max() == 1
    for i in (0, 1):
        y = scaled.design.client(i)[1]
        assert [y.mean(), y.std()] == pytest.approx([0, 1])


def federation_of(x, y, owners=None):
    return Federation.from_owners(
        np.asarray(x, float),
        np.asarray(y, float),
        np.zeros(len(y), int) if owners is None else owners,
        classes=None,
    )


def test_outputs_that_never_change_and_single_rows_are_allowed_and_said():
    x = np.linspace(0, 1, 21)[:, None]
    y = np.concatenate([np.full(10, 7.0), np.sin(x[10:20, 0]), [4.0]])
    process = GaussianProcess(rounds=2).fit(federation_of(x, y, np.repeat([0, 1, 2], [10, 10, 1])))
    mean, std = process.predict(x, 0, return_std=True)
    np.testing.assert_allclose(mean, 7.0)
    assert np.isfinite(std).all()
    assert process.predict([[1.0]], 2)[0] == pytest.approx(4.0)
    assert "one row" in str(process.summary())


def test_rows_twice_with_tiny_noise_stay_numbers():
    x = np.repeat(np.linspace(0, 1, 15), 3)[:, None]
    process = GaussianProcess(rounds=10, learning_rate=0.2, start=(1.0, 1e-3, 0.5)).fit(
        federation_of(x, np.sin(9 * x[:, 0]))
    )
    assert process.hyper_parameters["noise"] >= 1e-3
    assert np.isfinite(process.predict(x, 0, return_std=True)).all()


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.array([[0.0], [np.nan]]), [1.0, 2.0], "client '0' has inputs"),
        (np.array([[0.0], [1.0]]), [1.0, np.inf], "client '0' has outputs"),
        (np.zeros((0, 1)), [], "no client has a training row"),
    ],
)
def test_what_is_not_a_number_is_refused(x, y, words):
    rows = (
        federation_of(x, y, np.zeros(len(y), int))
        if len(y)
        else Federation.from_owners(x, np.zeros(0), np.zeros(0, int), clients=1, classes=None)
    )
    with pytest.raises(DataError, match=words):
        GaussianProcess(rounds=1).fit(rows)


def test_inputs_to_predict_are_checked(fitted):
    with pytest.raises(DataError, match="missing or infinite"):
        fitted.client(0).predict([[np.nan]])
    assert np.isnan(fitted.predict([[1.0], [np.nan]], 0)).tolist() == [False, True]
    with pytest.raises(DataError, match="fitted with 1"):
        fitted.predict([[1.0, 2.0]], 0)
    with pytest.raises(ConfigError, match="as many outputs"):
        fitted.adapt([[1.0]], [1.0, 2.0])
    with pytest.raises(ConfigError, match="below its high"):
        InputScaling.of(np.zeros((2, 1)), (1.0, 0.0))
    with pytest.raises(ConfigError, match="between 0 and 1"):
        coverage(np.zeros(1), np.ones(1), [0.0], (95,))


def test_scaling_is_undone_exactly():
    y = np.array([3.0, 5.0, 10.0])
    own = OutputScaling.of(y)
    np.testing.assert_allclose(own.scaled(y) * own.sd + own.mean, y)


def test_a_client_that_is_unlike_the_others_may_refine_the_prior_for_itself(fitted):
    x = np.linspace(0, 10, 60)[:, None]
    shared = fitted.adapt(x, np.sin(6 * x[:, 0]))
    own = shared.refined(30)
    assert own.posterior.loss() < shared.posterior.loss() - 1
    np.testing.assert_allclose(shared.refined(0).posterior.params, fitted.log_params)
    with pytest.raises(ConfigError, match="negative"):
        shared.refined(-1)
