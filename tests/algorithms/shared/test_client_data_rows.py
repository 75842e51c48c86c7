"""Has every row a value and a weight of its own, and nobody else's?"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms import ClientData
from unalike.algorithms.shared.client_data import BLOCK

ROWS = 700
X = np.random.default_rng(0).normal(size=(ROWS, 2)).astype(np.float32)
Y = np.arange(ROWS, dtype=np.int32) % 7
STREAM = np.random.default_rng(1).uniform(0.5, 2.0, ROWS).astype(np.float32)
POSITIONS = np.array([[0, 2, 1], [1, -1, -1]])


def view(start, size, capacity, weights=None):
    """A client that owns rows start ... start + size - 1 of seven hundred."""
    return ClientData(
        x=jnp.asarray(X),
        y=jnp.asarray(Y),
        weights=None if weights is None else jnp.asarray(weights),
        own_weights=None,
        start=jnp.asarray(start),
        size=jnp.asarray(size),
        steps=jnp.asarray(len(POSITIONS)),
        positions=jnp.asarray(POSITIONS),
        round=jnp.asarray(0),
        key=jax.random.key(0),
        capacity=capacity,
    )


def both(x, y):
    return jnp.stack([x[:, 0] * x[:, 1], 1.0 * y], axis=-1)


# Fewer rows than a block, a block exactly, one more; a capacity that is no multiple; a client at the end.
@pytest.mark.parametrize(
    ("start", "size", "capacity"),
    [
        (3, 0, 4),
        (3, 1, 1),
        (3, 5, 8),
        (10, BLOCK, BLOCK),
        (10, BLOCK + 1, 300),
        (100, 600, 600),
        (699, 1, 600),
    ],
)
def test_every_row_has_its_own_value_and_padding_has_none(start, size, capacity):
    found = np.asarray(view(start, size, capacity).per_row(both))
    own = slice(start, start + size)
    naive = np.zeros((capacity, 2), np.float32)
    naive[:size] = np.stack([X[own, 0] * X[own, 1], Y[own]], axis=-1)
    np.testing.assert_allclose(found, naive, rtol=1e-6)


def test_values_keep_their_type_and_shape():
    data = view(3, 5, 8)
    labels = data.per_row(lambda x, y: y)
    assert labels.dtype == Y.dtype
    assert labels.shape == (8,)
    assert labels.tolist() == [*Y[3:8].tolist(), 0, 0, 0]
    assert data.per_row(lambda x, y: jnp.zeros((len(x), 2, 3))).shape == (8, 2, 3)


def test_values_that_are_not_finite_stay_in_their_rows():
    """A function may fail on padding; a row weight of zero times NaN would still be NaN."""
    found = np.asarray(view(3, 5, 8).per_row(lambda x, y: jnp.where(y == 4, jnp.nan, jnp.inf)))
    assert np.isnan(found).tolist() == [False, True, False, False, False, False, False, False]
    assert found[5:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("size", [0, 1, 5, 8])
def test_rows_weigh_one_or_what_the_stream_says(size):
    real = np.arange(8) < size
    assert np.asarray(view(3, size, 8).row_weights()).tolist() == real.astype(float).tolist()
    streamed = np.asarray(view(3, size, 8, STREAM).row_weights())
    np.testing.assert_allclose(streamed, np.where(real, STREAM[3:11], 0.0))


def test_weights_for_several_losses_follow_their_rows_into_mini_batches():
    own = np.random.default_rng(2).uniform(size=(8, 3)).astype(np.float32)
    data = view(3, 5, 8).weighted(jnp.asarray(own))
    for s, places in enumerate(POSITIONS):
        batch = data.batch(s)
        naive = np.stack([own[p] if p >= 0 else np.zeros(3) for p in places])
        np.testing.assert_allclose(batch.weight, naive)
        assert float(batch.size) == (places >= 0).sum()
    np.testing.assert_allclose(data.row_weights(), np.where(np.arange(8)[:, None] < 5, own, 0.0))


def test_several_losses_at_once_are_the_losses_one_by_one():
    own = jnp.asarray(np.random.default_rng(2).uniform(size=(8, 3)), jnp.float32)

    def add(total, batch):
        value = batch.x[:, 0]
        return total + (batch.weight.reshape(len(value), -1) * value[:, None]).sum(0)

    data = view(3, 5, 8)
    together = data.weighted(own).fold(add, jnp.zeros(3))
    alone = [data.weighted(own[:, m]).fold(add, jnp.zeros(1))[0] for m in range(3)]
    np.testing.assert_allclose(together, alone, rtol=1e-6)


def test_own_weights_replace_those_of_the_stream_so_a_method_multiplies_them_itself():
    data = view(3, 5, 8, STREAM)
    ones = jnp.ones(8)
    np.testing.assert_allclose(data.weighted(ones).row_weights(), np.arange(8) < 5)
    kept = data.weighted(ones * data.row_weights())
    np.testing.assert_allclose(kept.row_weights(), data.row_weights())


def test_a_compiled_client_sees_the_same():
    seen = jax.jit(lambda data: (data.per_row(both), data.row_weights(), data.client))
    data = view(3, 5, 8, STREAM)
    for compiled, plain in zip(seen(data), (data.per_row(both), data.row_weights(), 0), strict=True):
        np.testing.assert_allclose(compiled, plain)


def test_values_may_depend_on_parameters_and_be_differentiated():
    def loss(scale):
        data = view(3, 5, 8)
        return data.row_weights() @ data.per_row(partial(lambda s, x, y: s * x[:, 0] ** 2, scale))

    slope = jax.jacfwd(loss)(2.0)
    assert float(slope) == pytest.approx(float((X[3:8, 0] ** 2).sum()), rel=1e-5)
