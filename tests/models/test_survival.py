"""Is Cox's loss of a batch the partial likelihood, whatever padding there is, and C what its name says?"""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.analytics.survival.partial_likelihood import StratifiedLikelihood
from unalike.core.precision import precision
from unalike.models import Batch, linear
from unalike.models.metrics.concordance import concordance_index
from unalike.models.survival import cox_loss, cox_task


def made(n=30, seed=0):
    rng = np.random.default_rng(seed)
    times = np.ceil(rng.exponential(2.0, n) * 3) / 3
    return rng.normal(size=(n, 4)), np.where(rng.random(n) < 0.5, times, -times)


def naive(scores, signed):
    """Event by event, as in the textbook."""
    total = 0.0
    for i in np.flatnonzero(signed > 0):
        at_risk = np.abs(signed) >= signed[i]
        total += np.log(np.sum(np.exp(scores[at_risk]))) - scores[i]
    return total


def test_the_loss_is_the_textbooks_and_that_of_the_exact_estimator():
    x, signed = made()
    b = np.array([0.3, -0.5, 0.0, 1.0])
    assert float(jnp.sum(cox_loss(jnp.asarray(x @ b), jnp.asarray(signed)))) == pytest.approx(
        naive(x @ b, signed), rel=1e-5
    )
    with precision(True):
        exact = StratifiedLikelihood(4, (0, 1, 2, 3), "breslow").of_client(
            jnp.asarray(b), Batch.of(x, signed)
        )
    assert float(exact) == pytest.approx(naive(x @ b, signed), rel=1e-9)


def test_padding_is_in_no_risk_set():
    x, signed = made()
    task = cox_task(linear(0, input_shape=(4,), outputs=1))
    params = jax.tree.map(lambda leaf: leaf + 0.3, task.init(jax.random.key(0)))
    padded = Batch(
        jnp.asarray(np.concatenate([x, x[:1].repeat(9, 0)])),
        jnp.asarray(np.concatenate([signed, signed[:1].repeat(9)])),
        jnp.asarray([1.0] * 30 + [0.0] * 9),
        jnp.asarray(30.0),
    )
    for own in (task.loss, jax.grad(task.loss)):
        plain, other = (jax.tree.leaves(own(params, batch)) for batch in (Batch.of(x, signed), padded))
        for a, b in zip(plain, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_batch_without_events_teaches_nothing():
    x, signed = made()
    task = cox_task(linear(0, input_shape=(4,), outputs=1))
    slopes = jax.grad(task.loss)(task.init(jax.random.key(0)), Batch.of(x, -np.abs(signed)))
    assert all(float(jnp.abs(leaf).max()) == 0 for leaf in jax.tree.leaves(slopes))


def naive_concordance(times, events, risks):
    right, pairs = 0.0, 0
    for i, j in itertools.permutations(range(len(times)), 2):
        if events[i] and (times[i] < times[j] or (times[i] == times[j] and not events[j])):
            pairs += 1
            right += 1.0 if risks[i] > risks[j] else 0.5 if risks[i] == risks[j] else 0.0
    return right / pairs


def test_concordance_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(3)
    times, events = np.ceil(rng.exponential(3, 40)), rng.integers(0, 2, 40)
    risks = np.round(rng.normal(size=40), 1)
    assert concordance_index(times, events, risks) == pytest.approx(naive_concordance(times, events, risks))


def test_turning_risks_round_turns_concordance_round():
    rng = np.random.default_rng(4)
    times, events, risks = rng.exponential(size=30), rng.integers(0, 2, 30), rng.normal(size=30)
    there, back = (concordance_index(times, events, sign * risks) for sign in (1, -1))
    assert there + back == pytest.approx(1)
    assert concordance_index(times, events, np.ones(30)) == 0.5


def test_concordance_is_not_defined_where_nobody_can_be_compared():
    assert math.isnan(concordance_index([1.0, 2.0], [0, 0], [1.0, 2.0]))
    assert math.isnan(concordance_index([1.0, 1.0], [1, 1], [1.0, 2.0]))
    assert math.isnan(concordance_index([1.0, 2.0], [1, 1], [np.nan, 2.0]))
