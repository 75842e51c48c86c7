"""Does MOCHA reach the optimum of its objective, and is the relation that of the paper?"""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize

import unalike
from unalike import ConfigError, Federation
from unalike.algorithms import Mocha
from unalike.data.federation import Split
from unalike.models import Task, linear, mlp

SIZES, WIDTH = [7, 5, 9], 3


def federation(classes=2):
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(SIZES)])
    x = rng.normal(size=(offsets[-1], WIDTH)).astype(np.float32)
    y = rng.integers(0, classes, offsets[-1]).astype(np.int32)
    split = Split(x, y, offsets)
    return Federation(split, Split(x[:0], y[:0], np.zeros_like(offsets)), split, classes)


def task(classes=2):
    return Task.classification(linear(input_shape=(WIDTH,), outputs=classes), classes)


def train(rounds, classes=2, **settings):
    return unalike.train(
        federation(classes), task(classes), Mocha(**settings), rounds=rounds, devices=1, evaluate_every=0
    )


def primal(models, sigma, lam):
    """sum_t (1/n_t) sum_i hinge + lambda/2 tr(W Sigma^-1 W')."""
    total = 0.0
    for t in range(len(SIZES)):
        x, y = federation().train.client(t)
        signs, wide = 2.0 * y - 1, np.hstack([x, np.ones((len(x), 1))])
        total += np.maximum(0, 1 - signs * (wide @ models[t])).mean()
    return total + lam / 2 * np.trace(models.T @ np.linalg.inv(sigma) @ models)


def test_with_a_fixed_relation_the_optimum_of_the_convex_problem_is_reached():
    lam = 0.5
    run = train(400, lam=lam, inner=10**6)
    sigma = np.eye(3) / 3
    found = np.asarray(run.state["models"], np.float64)[:, 0]
    best = min(
        minimize(
            lambda w: primal(w.reshape(3, -1), sigma, lam), start, method="Powell", options={"maxiter": 40000}
        ).fun
        for start in (found.ravel(), np.zeros(found.size))
    )
    assert primal(found, sigma, lam) <= best + 1e-3


def test_the_relation_is_the_square_root_of_the_models_products():
    run = train(2, inner=2, lam=0.1)
    before = train(2, inner=10**6, lam=0.1)
    w = np.asarray(before.state["models"], np.float64)[:, 0]
    root = np.real(sqrtm(w @ w.T))
    sigma = np.asarray(run.state["sigma"], np.float64)[0]
    np.testing.assert_allclose(sigma, root / np.trace(root), atol=1e-4)
    rho = (np.abs(sigma).sum(1) / np.diag(sigma)).max()
    assert float(run.state["rho"][0]) == pytest.approx(rho, rel=1e-4)


def test_models_are_the_duals_mixed_by_the_relation():
    run = train(5, inner=2, lam=0.3)
    dual, sigma = (np.asarray(run.state[name], np.float64) for name in ("dual", "sigma"))
    np.testing.assert_allclose(run.state["models"][:, 0], sigma[0].T @ dual[:, 0] / 0.3, atol=1e-4)
    memory, _ = run.memories.gather(np.arange(3))
    for t in range(3):
        x, _ = federation().train.client(t)
        wide = np.hstack([x, np.ones((len(x), 1))])
        alpha = np.asarray(memory["alpha"])[t, 0, : len(x)]
        np.testing.assert_allclose(dual[t, 0], alpha @ wide / len(x), atol=1e-5)


def test_dual_variables_stay_in_their_box():
    memory, _ = train(5, inner=2, lam=0.01).memories.gather(np.arange(3))
    for t in range(3):
        signs = 2.0 * federation().train.client(t)[1] - 1
        alpha = np.asarray(memory["alpha"])[t, 0, : SIZES[t]] * signs
        assert (alpha >= -1e-6).all()
        assert (alpha <= 1 + 1e-6).all()


def test_more_classes_are_one_against_the_rest():
    run = train(3, classes=3)
    assert run.state["models"].shape == (3, 3, WIDTH + 1)
    assert np.isfinite(run.evaluate("test")["accuracy"]).all()


def test_other_models_are_refused():
    other = Task.classification(mlp(4, input_shape=(WIDTH,), outputs=2), 2)
    with pytest.raises(ConfigError, match="linear"):
        unalike.train(federation(), other, Mocha(), rounds=1)


@pytest.mark.parametrize(("settings", "words"), [({"lam": 0.0}, "positive"), ({"inner": 0}, "at least 1")])
def test_impossible_settings_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        Mocha(**settings)
