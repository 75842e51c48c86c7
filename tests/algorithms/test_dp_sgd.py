"""Is every row's gradient clipped by itself, are rows drawn as the account assumes, is the noise right?"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.algorithms import DPSGD, LocalWork, Optimizer
from unalike.algorithms.shared.private_gradient import (
    RowSet,
    add_noise,
    batch_room,
    draw_rows,
    private_gradient,
    sum_clipped_gradients,
)
from unalike.models import Batch

from . import naive

SIZES, RATE, CLIP = [7, 5], 0.3, 0.5
ALL = LocalWork(steps=3, batch_size=0)


def clipped_step(theta, x, y, clip):
    """The mean of the rows' gradients, each clipped, one row after the other."""
    total = np.zeros_like(theta)
    for i in range(len(x)):
        one = naive.gradient(theta, x[i : i + 1], y[i : i + 1])
        total += one * min(1.0, clip / np.linalg.norm(one))
    return total / len(x)


def trained(**settings):
    federation = naive.federation(SIZES)
    method = DPSGD(
        work=ALL, optimizer=Optimizer("sgd", RATE), **{"clip_norm": CLIP, "noise": 0.0, **settings}
    )
    run = naive.train(federation, naive.task(), method, 1)
    return federation, naive.flat(run.message)


def test_without_noise_and_with_all_rows_it_is_a_loop_over_rows_whose_gradients_are_clipped():
    federation, found = trained()
    expected = naive.zeros()
    for i, share in enumerate(federation.importance):
        theta = naive.zeros()
        for _ in range(ALL.steps):
            theta = theta - RATE * clipped_step(theta, *federation.train.client(i), CLIP)
        expected += share * theta
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_clipping_a_row_is_not_clipping_a_batch():
    federation, found = trained()
    whole = replace(unalike.FedAvg(work=ALL), optimizer=Optimizer("sgd", RATE, clip=CLIP))
    batch = naive.flat(naive.train(federation, naive.task(), whole, 1).message)
    assert np.abs(found - batch).max() > 1e-3


def test_with_a_norm_that_nobody_reaches_and_no_noise_it_is_fedavg():
    federation, found = trained(clip_norm=1e6)
    plain = unalike.FedAvg(work=ALL, optimizer=Optimizer("sgd", RATE))
    np.testing.assert_allclose(
        found, naive.flat(naive.train(federation, naive.task(), plain, 1).message), atol=1e-6
    )


def rows(count, seed=0):
    split = naive.split([count], seed)
    return jnp.asarray(split.x), jnp.asarray(split.y)


def test_a_row_that_is_added_moves_the_clipped_sum_by_at_most_the_norm():
    x, y = rows(30)
    params = naive.task().init(jax.random.key(0))
    for left_out in range(2):
        full = sum_clipped_gradients(naive.task(), params, Batch.of(100 * x, y), CLIP)
        less = sum_clipped_gradients(
            naive.task(), params, Batch.of(100 * jnp.delete(x, left_out, 0), jnp.delete(y, left_out)), CLIP
        )
        gap = np.sqrt(
            sum(
                float(jnp.sum((a - b) ** 2)) for a, b in zip(*map(jax.tree.leaves, (full, less)), strict=True)
            )
        )
        assert gap <= CLIP * (1 + 1e-4)
        assert gap > 0.9 * CLIP  # the rows are so large that all are clipped


def test_weights_of_rows_cannot_make_a_row_count_more_than_the_norm():
    x, y = rows(1)
    params = naive.task().init(jax.random.key(0))
    heavy = sum_clipped_gradients(naive.task(), params, Batch.of(x, y, weight=jnp.array([1e6])), CLIP)
    assert np.sqrt(sum(float(jnp.sum(a**2)) for a in jax.tree.leaves(heavy))) <= CLIP * (1 + 1e-5)


def test_a_row_whose_gradient_is_not_finite_counts_as_nothing():
    x, y = rows(4)
    params = naive.task().init(jax.random.key(0))
    spoiled = sum_clipped_gradients(naive.task(), params, Batch.of(x.at[1].set(jnp.nan), y), CLIP)
    without = sum_clipped_gradients(
        naive.task(), params, Batch.of(jnp.delete(x, 1, 0), jnp.delete(y, 1)), CLIP
    )
    assert unalike.core.pytrees.largest_difference(spoiled, without) < 1e-6


class Rows:
    """What a private gradient needs of a client's data."""

    def __init__(self, x, y):
        self.x, self.y, self.capacity = x, y, len(x)

    def rows_at(self, positions):
        real = positions >= 0
        place = jnp.where(real, positions, 0)
        return Batch(self.x[place], self.y[place], real.astype(jnp.float32), real.sum().astype(jnp.float32))


def test_a_noisy_gradient_of_a_drawn_batch_is_that_of_a_naive_loop_with_the_same_draws():
    x, y = rows(40)
    params, key = naive.task().init(jax.random.key(0)), jax.random.key(5)
    everyone = RowSet(0, jnp.asarray(40))
    found = private_gradient(naive.task(), params, Rows(x, y), everyone, 10, CLIP, 1.3, key)
    draw, hide, _ = jax.random.split(key, 3)
    chosen = [int(p) for p in draw_rows(everyone, 10, 40, draw) if p >= 0]
    assert 0 < len(chosen) < 40
    theta = naive.flat(params)
    total = len(chosen) * clipped_step(theta, np.asarray(x)[chosen], np.asarray(y)[chosen], CLIP)
    noise = naive.flat(add_noise(jax.tree.map(jnp.zeros_like, params), 1.3 * CLIP, hide))
    np.testing.assert_allclose(naive.flat(found), (total + noise) / 10, atol=1e-6)


def test_every_row_is_drawn_by_itself_with_the_same_probability():
    draws = 4000
    keys = jax.random.split(jax.random.key(1), draws)
    some = RowSet(3, jnp.asarray(20))  # rows 3 to 22 of 30
    places = np.asarray(jax.vmap(lambda key: draw_rows(some, 5, 30, key))(keys))
    there = np.zeros((draws, 30))
    for i in range(draws):
        there[i, places[i][places[i] >= 0]] = 1
    assert there[:, :3].sum() == there[:, 23:].sum() == 0
    rate = there[:, 3:23].mean(0)
    assert np.abs(rate - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / draws)
    assert there.sum(1).var() == pytest.approx(20 * 0.25 * 0.75, rel=0.1)  # binomial, so independent


@pytest.mark.parametrize("expected", [1, 16, 200])
def test_a_batch_has_room_for_all_rows_that_are_ever_drawn(expected):
    from scipy.stats import binom

    room = batch_room(expected, 10**6)
    for size in (2 * expected, 10 * expected, 1000 * expected):
        assert binom.sf(room, size, expected / size) <= 1e-12


def test_the_deviation_of_the_noise_is_that_of_the_norm_over_the_expected_batch():
    x, y = jnp.zeros((50, 400)), jnp.zeros(50, jnp.int32)
    model = unalike.models.linear(input_shape=(400,), outputs=3)
    task = unalike.Task.classification(model, 3)
    params = jax.tree.map(jnp.zeros_like, task.init(jax.random.key(0)))
    everyone = RowSet(0, jnp.asarray(50))
    noisy = private_gradient(task, params, Rows(x, y), everyone, 8, 2.0, 1.5, jax.random.key(2))
    values = np.asarray(noisy["w"]).ravel()  # whose gradient is zero, for all inputs are
    assert abs(values.std() / (1.5 * 2.0 / 8) - 1) < 4 / np.sqrt(2 * len(values))


def test_nothing_of_training_is_reported():
    run = naive.train(naive.federation(SIZES), naive.task(), DPSGD(work=ALL), 1)
    assert "train_loss" not in run.metrics()


@pytest.mark.parametrize(
    ("settings", "words"), [({"clip_norm": 0.0}, "clip_norm"), ({"noise": -1.0}, "noise must")]
)
def test_settings_that_cannot_be_are_refused(settings, words):
    with pytest.raises(unalike.ConfigError, match=words):
        DPSGD(**settings)
