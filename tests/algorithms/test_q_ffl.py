"""Is q-FFL's step the paper's, does q = 0 give FedAvg, and are losses refused that have no powers?"""

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError, Task, models
from unalike.algorithms import QFFL, Aggregate, FedAvg, LocalWork
from unalike.algorithms.q_ffl import relative_curvature
from unalike.core.pytrees import largest_difference

from . import naive

SIZES = [6, 9, 4]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)
IMPORTANCE = np.array(SIZES) / sum(SIZES)
STARTS, ENDS, LOSSES, RATE = np.array([1.0, 2.0]), np.array([[0.9, 1.9], [0.8, 2.1]]), (1.0, 0.25), 0.1


def paper_step(theta, ends, losses, shares, q, rate):
    """w - sum_k p_k D_k / sum_k p_k h_k."""
    gradients = [(theta - end) / rate for end in ends]
    up = sum(p * f**q * g for p, f, g in zip(shares, losses, gradients, strict=True))
    down = sum(
        p * (q * f ** (q - 1) * (g**2).sum() + f**q / rate)
        for p, f, g in zip(shares, losses, gradients, strict=True)
    )
    return theta - up / down


@pytest.mark.parametrize(
    ("q", "expected"),
    [(0.0, (0.85, 2.0)), (1.0, (0.92307692, 1.96153846)), (2.0, (0.93430657, 1.94525547))],
)
@pytest.mark.parametrize("level", [1.0, 0.1, 30.0])
def test_golden_steps_whatever_the_level_of_losses(q, expected, level):
    method = QFFL(q=q)
    total = {"params": 0.0, "share": 0.0, "loss": 0.0, "curvature": 0.0}
    weight = 0.0
    for end, loss in zip(ENDS, LOSSES, strict=True):
        mine = 0.5 * (loss / level) ** q
        curvature = relative_curvature(q, loss, ((STARTS - end) ** 2).sum(), RATE)
        sent = {"params": end, "share": 0.5 / mine, "loss": 0.5 * loss / mine, "curvature": curvature}
        total = {name: total[name] + mine * value for name, value in sent.items()}
        weight += mine
    mixed = Aggregate(total, {"params": weight * STARTS}, jnp.asarray(weight), jnp.asarray(2.0), 1.0)
    state = {"params": STARTS, "server": (), "level": jnp.asarray(level)}
    after = method.aggregate(None, state, mixed)
    assert np.allclose(after["params"], expected, atol=1e-6)
    assert after["level"] == pytest.approx(np.mean(LOSSES), abs=1e-6)
    assert np.allclose(paper_step(STARTS, ENDS, LOSSES, (0.5, 0.5), q, RATE), expected, atol=1e-8)


@pytest.mark.parametrize("q", [0.5, 1.0, 5.0])
def test_three_rounds_equal_the_paper(federation, task, q):
    theta = naive.zeros()
    run = naive.train(federation, task, QFFL(work=WORK, q=q), 3)
    for number in range(3):
        rows = [federation.train.client(k) for k in range(len(SIZES))]
        ends = [naive.descend(theta, x, y, naive.in_order(len(x), 3, 2), 0.1) for x, y in rows]
        losses = [naive.loss(theta, x, y) for x, y in rows]
        theta = paper_step(theta, ends, losses, IMPORTANCE, q, 0.1)
        assert np.allclose(naive.flat(run.history.state(number + 1)["params"]), theta, atol=3e-5)
    assert np.abs(theta).max() > 0.02


def test_without_q_it_is_fedavg(federation, task):
    plain, fair = (
        naive.train(federation, task, method, 3, per_round=2).state["params"]
        for method in (FedAvg(work=WORK), QFFL(work=WORK, q=0.0))
    )
    assert largest_difference(plain, fair) < 1e-6


def test_a_loss_that_can_be_negative_is_refused(federation):
    model = models.linear(input_shape=(naive.FEATURES,), outputs=naive.CLASSES)
    likelihood = Task.custom(model.init, model.apply, lambda outputs, y: outputs.sum(-1) - 1.0)
    with pytest.raises(ConfigError, match=r"can be negative \(-1\)"):
        naive.train(federation, likelihood, QFFL(work=WORK), 1)


@pytest.mark.parametrize(("settings", "words"), [({"q": -1.0}, "q must not"), ({"lipschitz": 0.0}, "lipsch")])
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        QFFL(**settings)


def test_after_one_step_over_all_rows_training_has_seen_the_loss_that_is_asked_for(federation, task):
    whole = LocalWork(epochs=1, batch_size=0)
    measured, seen = (
        naive.train(federation, task, QFFL(work=whole, q=2.0, training_loss=told), 3)
        for told in (False, True)
    )
    assert largest_difference(measured.state["params"], seen.state["params"]) < 1e-6
