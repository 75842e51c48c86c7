"""Does AdvReg train an attacker and learn against it, and is it WERM where the attacker weighs nothing?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.algorithms import WERM, AdvReg, AdvRegRT, LocalWork, Optimizer
from unalike.algorithms.shared.membership_attacker import (
    MOST_CLASSES,
    attack_loss,
    clues,
    first_attacker,
    suspicion,
)
from unalike.models import Batch

from . import naive

WORK, SGD = LocalWork(epochs=2, batch_size=4), Optimizer("sgd", 0.3)


def model(method):
    return naive.flat(naive.train(naive.federation([9, 8]), naive.task(), method, 2).message)


@pytest.mark.parametrize("method", [AdvReg, AdvRegRT])
def test_without_weight_of_the_attacker_it_is_werm_on_training_rows_alone(method):
    """So the labels of reference rows are never learnt."""
    found = model(method(work=WORK, optimizer=SGD, lam=0.0))
    np.testing.assert_allclose(found, model(WERM(work=WORK, optimizer=SGD, weight=1.0)), atol=1e-6)


def test_what_the_attacker_sees_is_what_a_prediction_says():
    outputs = np.log([[0.5, 0.3, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
    seen = np.asarray(clues(jnp.asarray(outputs), jnp.array([1, 0])))
    np.testing.assert_allclose(seen[0, :4], [np.log(0.3), 0.5, 0.3, 0.1], atol=1e-6)
    np.testing.assert_allclose(seen[:, 4], [1.16827, np.log(4)], atol=1e-4)
    assert clues(jnp.zeros((3, 2)), jnp.zeros(3)).shape == (3, 5)


@pytest.mark.parametrize(("view", "penalty"), [("summary", "log"), ("vector", "square")])
def test_an_attacker_that_has_learnt_nothing_guesses_and_a_step_makes_it_better(view, penalty):
    rows = naive.split([20], 3)
    params, attacker = naive.task().init(jax.random.key(0)), first_attacker(view)
    params = jax.tree.map(lambda leaf: leaf + jax.random.normal(jax.random.key(2), leaf.shape), params)
    chosen = jnp.asarray(np.repeat([[2.0, 0.0], [0.0, 2.0]], 10, axis=0))
    batch = Batch(jnp.asarray(rows.x), jnp.asarray(rows.y), chosen, jnp.asarray(20.0))
    seen = clues(naive.task().apply(params, batch.x), batch.y, view)
    first = attack_loss(attacker, seen, batch, penalty)
    assert float(first) == pytest.approx(2 * np.log(2) if penalty == "log" else 0.5, rel=1e-5)
    slope = jax.grad(attack_loss)(attacker, seen, batch, penalty)
    better = jax.tree.map(lambda a, g: a - 0.01 * g, attacker, slope)
    assert attack_loss(better, seen, batch, penalty) < first


def by_differences(function, point, width=1e-6):
    """A gradient, one entry at a time."""
    steps = width * np.eye(point.size).reshape(-1, *point.shape)
    return np.array([function(point + s) - function(point - s) for s in steps]).reshape(point.shape) / (
        2 * width
    )


def log_chances(model, x):
    outputs = np.column_stack([x, np.ones(len(x))]) @ model
    return outputs - np.log(np.exp(outputs).sum(1, keepdims=True))


def seen_by(attacker_view, logs, y):
    """What an attacker sees, from log probabilities."""
    chances = np.exp(logs)
    parts = [logs[np.arange(len(y)), y][:, None], -np.sort(-chances, 1), -(chances * logs).sum(1)[:, None]]
    if attacker_view == "vector":
        empty = np.zeros((len(y), MOST_CLASSES - 3))
        parts += [chances, empty, np.eye(MOST_CLASSES)[y]]
    return np.hstack(parts)


def log_odds(attacker, view, model, x, y):
    inner, bias, outer, shift = attacker
    return np.maximum(seen_by(view, log_chances(model, x), y) @ inner + bias, 0) @ outer + shift


def softplus(values):
    return np.log1p(np.exp(values))


def certain(odds, penalty):
    return -softplus(-odds) if penalty == "log" else 1 / (1 + np.exp(-odds)) ** 2


FORMS = [
    (AdvReg, "summary", 1, "log"),
    (AdvRegRT, "summary", 1, "log"),
    (AdvRegRT, "vector", 3, "square"),
]


@pytest.mark.parametrize(("form", "view", "steps", "penalty"), FORMS)
def test_steps_of_attacker_and_client_are_those_of_the_formulas(form, view, steps, penalty):
    """Both objectives as they are printed, a mean over each set, descended in turn with NumPy. (From a plain
    step on: where all probabilities are equal, the largest ones have no derivative.)"""
    rows, lam, rates = naive.split([9], 1), 2.0, (0.5, 0.3)
    (x, y), (rx, ry) = ((rows.x[part].astype(float), rows.y[part]) for part in (slice(4), slice(4, 9)))
    attacker = [np.array(first_attacker(view)[name], float) for name in ("inner", "bias", "outer", "shift")]
    shared = {"work": LocalWork(epochs=1, batch_size=0), "optimizer": Optimizer("sgd", rates[0])}
    start = naive.train(naive.federation([9]), naive.task(), WERM(weight=1.0, **shared), 1)
    model = naive.flat(start.message)
    for _ in range(4):
        for _ in range(steps):
            attacker = ascend(attacker, view, model, (x, y), (rx, ry), rates[1], penalty)

        def loss(w, h=attacker):
            sure = certain(log_odds(h, view, w, x, y), penalty)
            unsure = certain(-log_odds(h, view, w, rx, ry), penalty).mean() if form is AdvRegRT else 0.0
            return (-log_chances(w, x)[np.arange(len(y)), y] + lam * sure).mean() + lam * unsure

        model = model - rates[0] * by_differences(loss, model)
    method = form(
        **shared,
        lam=lam,
        attacker_rate=rates[1],
        attacker=view,
        attacker_steps=steps,
        penalty=penalty,
    )
    found = naive.train(naive.federation([9]), naive.task(), method, 4, initial=start.history.state(1))
    np.testing.assert_allclose(naive.flat(found.message), model, atol=2e-4)


def ascend(attacker, view, model, own, other, rate, penalty):
    """A step of the attacker, with gradients by hand: both sets weigh the same."""
    inner, bias, outer, shift = attacker
    slopes = [np.zeros_like(part) for part in attacker]
    for (x, y), member in ((own, 1), (other, 0)):
        seen = seen_by(view, log_chances(model, x), y)
        hidden = seen @ inner + bias
        chance = 1 / (1 + np.exp(-(np.maximum(hidden, 0) @ outer + shift)))
        error = (member - chance) * (1 if penalty == "log" else 2 * chance * (1 - chance)) / len(y)
        back = error[:, None] * outer * (hidden > 0)
        for slope, value in zip(
            slopes, (seen.T @ back, back.sum(0), np.maximum(hidden, 0).T @ error, error.sum()), strict=True
        ):
            slope += value
    return [part + rate * slope for part, slope in zip(attacker, slopes, strict=True)]


def test_the_weight_of_the_attacker_lowers_how_sure_it_is_of_training_rows():
    """On rows that are learnt by heart, members are less conspicuous with the attacker than without."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 30)), rng.integers(0, 3, 60)
    federation = unalike.Federation.from_owners(x, y, np.zeros(60, int), test_fraction=0.0)
    net = unalike.models.mlp(32, input_shape=(30,), outputs=3)
    task = unalike.Task.classification(net, 3)
    gaps = []
    for lam in (0.0, 3.0):
        method = AdvReg(work=LocalWork(epochs=1, batch_size=20), optimizer=Optimizer("sgd", 0.2), lam=lam)
        params = unalike.train(federation, task, method, rounds=150, evaluate_every=0).message
        losses = np.asarray(task.losses(params, federation.train.x, federation.train.y))
        gaps.append(losses[30:].mean() - losses[:30].mean())  # the last half are reference rows
    assert gaps[1] < 0.9 * gaps[0]


def test_what_it_cannot_do_is_refused():
    with pytest.raises(unalike.ConfigError, match="reference_fraction must be above 0"):
        AdvReg(reference_fraction=0.0)
    with pytest.raises(unalike.ConfigError, match="lam must not be negative"):
        AdvReg(lam=-1.0)
    with pytest.raises(unalike.ConfigError, match="attacker_steps must be at least 1, but is 0"):
        AdvReg(attacker_steps=0)
    with pytest.raises(unalike.ConfigError, match="unknown attacker 'whole'"):
        AdvReg(attacker="whole")
    with pytest.raises(unalike.ConfigError, match="up to 128 classes, but there are 129"):
        clues(jnp.zeros((3, 129)), jnp.zeros(3), "vector")
    task = unalike.Task.regression(unalike.models.linear(input_shape=(4,), outputs=1))
    with pytest.raises(unalike.ConfigError, match="adv-reg is for classifications"):
        AdvReg().init_client(task, {}, jax.random.key(0))
    assert suspicion(first_attacker(), jnp.zeros((2, 5))).tolist() == [0, 0]
