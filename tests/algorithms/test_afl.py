"""Does AFL's mixture follow the losses on the simplex, and its answer average the models?"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import AFL, LocalWork
from unalike.algorithms.shared.simplex import project_simplex

from . import naive

SIZES = [6, 9, 4]
WORK = LocalWork(steps=1, batch_size=0)
GROUPS = ("a", "b", "a")


def sorted_projection(values):
    """The projection on the simplex by sorting and a threshold, without bounds."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    return np.maximum(values - excess[ordered > excess][-1], 0)


def test_projection_is_that_by_sorting():
    assert np.allclose(project_simplex(jnp.array([0.5, 0.8, -0.2])), [0.35, 0.65, 0.0], atol=1e-6)
    for seed in range(5):
        values = np.random.default_rng(seed).normal(size=9)
        assert np.allclose(project_simplex(jnp.asarray(values)), sorted_projection(values), atol=1e-6)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_rounds_equal_descent_and_ascent(federation, task, groups):
    numbers = np.array([0, 1, 2] if groups is None else [0, 1, 0])
    importance = np.array(SIZES) / sum(SIZES)
    totals = np.bincount(numbers, importance)
    theta, lam, mean = naive.zeros(), totals.copy(), naive.zeros()
    method = AFL(work=WORK, lam_rate=2.0)
    run = naive.train(replace(federation, groups=groups), task, method, 4)
    for number in range(4):
        rows = [federation.train.client(k) for k in range(len(SIZES))]
        losses = np.array([naive.loss(theta, x, y) for x, y in rows])
        weights = importance * (lam / totals)[numbers]
        theta = theta - 0.1 * sum(
            w * naive.gradient(theta, x, y) for w, (x, y) in zip(weights, rows, strict=True)
        )
        lam = sorted_projection(lam + 2.0 * np.bincount(numbers, losses) / np.bincount(numbers))
        mean = mean + (theta - mean) / (number + 1)
        state = run.history.state(number + 1)
        assert np.allclose(naive.flat(state["params"]), theta, atol=3e-5)
        assert np.allclose(state["lam"], lam, atol=2e-4)
        assert np.allclose(naive.flat(state["average"]), mean, atol=3e-5)


def test_who_has_lost_all_weight_is_still_heard(federation, task):
    run = naive.train(federation, task, AFL(work=WORK, lam_rate=100.0), 6)
    states = [run.history.state(number) for number in range(1, 7)]
    assert any(float(state["lam"].min()) == 0 for state in states)
    gone = next(i for i, state in enumerate(states) if float(state["lam"].min()) == 0)
    client = int(np.argmin(states[gone]["lam"]))
    assert states[gone]["losses"][client] != states[-1]["losses"][client]


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="lam_rate"):
        AFL(lam_rate=-1.0)
