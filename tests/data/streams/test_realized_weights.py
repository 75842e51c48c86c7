"""Do weights of rows, rounds and clients add up to each other?"""

import numpy as np
import pytest

from unalike.data.streams.optimal_importance import imbalance, share_out
from unalike.data.streams.realized_weights import (
    client_totals,
    constant_weights,
    effective_samples,
    gradient_variability,
    realized_importance,
    round_importance,
    round_weights,
    row_importance,
)
from unalike.errors import ConfigError

OWNERS = np.repeat([0, 1, 2], [3, 4, 5])


def owner(m):
    return np.flatnonzero(m == OWNERS)


@pytest.fixture
def weights():
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, size=(6, 12)) * (rng.random((6, 12)) < 0.5)


def test_the_objective_is_the_mean_of_the_rounds_objectives(weights):
    losses = np.random.default_rng(1).normal(size=12)
    totals = client_totals(weights, OWNERS, 3)
    inside = np.stack(
        [weights[:, owner(m)] @ losses[owner(m)] / np.maximum(totals[:, m], 1e-300) for m in range(3)],
        1,
    )
    whole = round_weights(totals) @ (round_importance(totals) * inside).sum(axis=1)
    assert whole == pytest.approx(float((weights @ losses).sum() / weights.sum()))


def test_clients_count_what_their_rows_and_their_rounds_count(weights):
    totals = client_totals(weights, OWNERS, 3)
    p = realized_importance(totals)
    np.testing.assert_allclose(p, round_weights(totals) @ round_importance(totals))
    np.testing.assert_allclose(p, np.bincount(OWNERS, row_importance(weights)))
    assert round_weights(totals).sum() == pytest.approx(1)


def test_never_more_rows_are_used_than_there_are(weights):
    assert effective_samples(row_importance(weights)) < 12
    assert effective_samples(np.full(12, 1 / 12)) == pytest.approx(12)


def test_weights_made_for_importances_give_them():
    """Two historical clients, and a fresh one that holds other rows in every round."""
    sizes, fresh = np.array([4, 2, 6]), np.array([False, False, True])
    p = share_out(0.7, sizes, fresh)
    each = constant_weights(p, [4, 2, 2])
    owners = np.repeat([0, 1, 2], sizes)
    weights = np.zeros((3, 12))
    weights[:, :6] = each[owners[:6]]
    for t in range(3):
        weights[t, 6 + 2 * t : 8 + 2 * t] = each[2]
    totals = client_totals(weights, owners, 3)
    np.testing.assert_allclose(round_importance(totals), np.tile(p, (3, 1)))
    np.testing.assert_allclose(round_weights(totals), 1 / 3)
    assert effective_samples(row_importance(weights)) == pytest.approx(12 / imbalance(p, sizes / 12))
    kept = weights * (owners < 2)
    assert gradient_variability(kept, np.random.default_rng(0).normal(size=(12, 2))) < 1e-30


def test_a_round_without_data_counts_nothing():
    totals = np.array([[1.0, 3.0], [0.0, 0.0]])
    np.testing.assert_array_equal(round_weights(totals), [1, 0])
    np.testing.assert_array_equal(round_importance(totals)[1], [0, 0])


@pytest.mark.parametrize("bad", [[1.0], [[-1.0, 2.0]], [[np.nan]], [[0.0]]])
def test_bad_weights_are_refused(bad):
    with pytest.raises(ConfigError, match="weights of a stream"):
        round_weights(bad)
