"""Does a client's view show its own rows, each as often as it should, with the right weights?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms import ClientData

START, SIZE, CAPACITY = 4, 5, 8
POSITIONS = np.array([[3, 0, 4], [1, 2, -1], [4, 4, 0], [-1, -1, -1]])


def view(size=SIZE, steps=3, weights=None, start=START):
    rows = np.arange(12.0, dtype=np.float32)
    return ClientData(
        x=jnp.stack([rows, rows**2], axis=1),
        y=jnp.arange(12) % 3,
        weights=weights,
        own_weights=None,
        start=jnp.asarray(start),
        size=jnp.asarray(size),
        steps=jnp.asarray(steps),
        positions=jnp.asarray(POSITIONS),
        round=jnp.asarray(2),
        key=jax.random.key(0),
        capacity=CAPACITY,
    )


def weighted_sum(total, batch):
    """A number that tells rows, labels and weights apart."""
    return total + jnp.sum(batch.weight * (batch.x[:, 1] + 1000.0 * batch.y))


def expected(rows, weights=None):
    rows = np.asarray(rows) + START
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights)
    return float((weights * (rows**2 + 1000.0 * (rows % 3))).sum())


def test_folding_visits_the_planned_batches_in_turn():
    planned = [3, 0, 4, 1, 2, 4, 4, 0]
    assert float(view().fold(weighted_sum, jnp.zeros(()))) == pytest.approx(expected(planned))
    assert float(view(steps=1).fold(weighted_sum, jnp.zeros(()))) == pytest.approx(expected([3, 0, 4]))
    assert float(view(steps=0).fold(weighted_sum, jnp.zeros(()))) == 0.0


def test_the_order_of_the_batches_is_kept():
    digits = view().fold(lambda c, b: 10.0 * c + b.size, jnp.zeros(()))
    assert float(digits) == 323.0


@pytest.mark.parametrize("size", [0, 1, 3, 5, 7, 8])
def test_a_pass_over_all_rows_visits_each_once(size):
    total = view(size).fold_rows(weighted_sum, jnp.zeros(()))
    assert float(total) == pytest.approx(expected(range(size)))
    count = view(size).fold_rows(lambda c, b: c + b.size, jnp.zeros(()))
    assert float(count) == size


@pytest.mark.parametrize("size", [0, 1, 5, 8])
def test_all_rows_are_padded_with_weight_zero(size):
    batch = view(size).all_rows()
    assert batch.x.shape == (CAPACITY, 2)
    assert batch.weight.tolist() == [1.0] * size + [0.0] * (CAPACITY - size)
    assert float(batch.size) == size
    assert np.array_equal(batch.x[:size, 0], np.arange(START, START + size))


def test_no_batch_shows_a_row_of_another_client():
    mine = set(range(START, START + SIZE))
    shown = [view().all_rows(), *(view().batch(s) for s in range(len(POSITIONS)))]
    for batch in shown:
        assert set(np.asarray(batch.x[:, 0]).astype(int).tolist()) <= mine


def test_a_client_without_rows_at_the_very_end_still_has_finite_padding():
    batch = view(size=0, start=12).all_rows()
    assert np.isfinite(batch.x).all()
    assert not batch.weight.any()


def test_weights_of_the_stream_and_of_the_client_itself():
    stream = jnp.arange(12.0)
    batch = view(weights=stream).batch(1)
    assert batch.weight.tolist() == [5.0, 6.0, 0.0]
    # A client's own weights replace the stream's; they are counted from its first row.
    own = view(weights=stream).weighted(jnp.arange(10.0, 10.0 + CAPACITY))
    assert own.batch(1).weight.tolist() == [11.0, 12.0, 0.0]
    assert own.all_rows().weight.tolist() == [10.0, 11.0, 12.0, 13.0, 14.0, 0.0, 0.0, 0.0]
    assert float(own.batch(1).size) == 2.0


def test_every_batch_has_a_key_of_its_own():
    keys = [jax.random.key_data(view().batch(s).key).tolist() for s in range(3)]
    assert len({tuple(key) for key in keys}) == 3
    assert jax.random.key_data(view().batch(1).key).tolist() == keys[1]
