"""Are the weights of TERM the softmax of losses, smoothed over rounds, and those of groups of theirs?"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import FedAvg, LocalWork, Term, TermGroup
from unalike.algorithms.shared.fair_weights import ClientGroups
from unalike.core.pytrees import largest_difference

from . import naive

SIZES = [6, 9, 4]
WORK = LocalWork(epochs=1, batch_size=3, shuffle=False)
IMPORTANCE = np.array(SIZES) / sum(SIZES)
GROUPS = ("a", "b", "a")


def losses_and_ends(federation, theta):
    rows = [federation.train.client(k) for k in range(len(SIZES))]
    ends = [naive.descend(theta, x, y, naive.in_order(len(x), 3), 0.1) for x, y in rows]
    return np.array([naive.loss(theta, x, y) for x, y in rows]), ends


@pytest.mark.parametrize("t", [0.5, 5.0])
def test_rounds_equal_the_smoothed_tilt(federation, task, t):
    theta, tilt = naive.zeros(), None
    run = naive.train(federation, task, Term(work=WORK, t=t), 3)
    for number in range(3):
        losses, ends = losses_and_ends(federation, theta)
        new = IMPORTANCE @ np.exp(t * losses)
        tilt = new if tilt is None else 0.5 * tilt + 0.5 * new
        weights = IMPORTANCE * np.exp(t * losses) / tilt
        theta = theta + sum(w * (end - theta) for w, end in zip(weights, ends, strict=True))
        state = run.history.state(number + 1)
        assert np.allclose(naive.flat(state["params"]), theta, atol=3e-5)
        assert state["level"] == pytest.approx(np.log(tilt) / t, abs=1e-4)


def test_groups_are_tilted_by_their_mean_losses(federation, task):
    theta, known = naive.zeros(), np.full(3, np.log(naive.CLASSES))
    run = naive.train(replace(federation, groups=GROUPS), task, TermGroup(work=WORK, t=5.0), 3)
    for number in range(3):
        means = np.array([(known[0] + known[2]) / 2, known[1], (known[0] + known[2]) / 2])
        weights = IMPORTANCE * np.exp(5 * means) / (IMPORTANCE @ np.exp(5 * means))
        known, ends = losses_and_ends(federation, theta)
        theta = np.average(ends, axis=0, weights=weights)
        state = run.history.state(number + 1)
        assert np.allclose(naive.flat(state["params"]), theta, atol=3e-5)
        assert np.allclose(state["losses"], known, atol=2e-5)


def test_golden_weights():
    groups = ClientGroups((0, 1, 2), (1 / 3,) * 3, ("a", "b", "c"))
    weights = TermGroup(t=2.0, groups=groups).weights(jnp.array([1.0, 0.5, 2.0])) / 3
    assert np.allclose(weights, [0.1141952, 0.0420101, 0.8437947], atol=1e-6)


def test_without_tilt_it_is_fedavg(federation, task):
    plain, *fair = (
        naive.train(federation, task, method, 3, per_round=2).state["params"]
        for method in (FedAvg(work=WORK), Term(work=WORK, t=0.0), TermGroup(work=WORK, t=0.0))
    )
    assert max(largest_difference(plain, other) for other in fair) < 1e-6


@pytest.mark.parametrize("settings", [{"t": -1.0}, {"smoothing": 0.0}, {"smoothing": 1.5}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Term(**settings)


@pytest.mark.parametrize("method", [Term, TermGroup])
def test_after_one_step_over_all_rows_training_has_seen_the_loss_that_is_asked_for(federation, task, method):
    whole = LocalWork(epochs=1, batch_size=0)
    measured, seen = (
        naive.train(federation, task, method(work=whole, t=2.0, training_loss=told), 3)
        for told in (False, True)
    )
    assert largest_difference(measured.state["params"], seen.state["params"]) < 1e-6
