"""What do clients count that come and go?"""

import numpy as np
import pytest

import unalike
from unalike.data.streams.realized_weights import realized_importance
from unalike.errors import ConfigError
from unalike_studies.theory.streams.intermittent import active_places, presence, present_importance

PERMANENT = np.array([True, True, False, False, False])
SIZES = np.array([10, 30, 5, 5, 20])


def test_weights_of_every_round_sum_to_one_and_permanent_clients_have_their_part():
    there = presence([0, 0, 0, 0, 1], [3, 3, 1, 1, 1], rounds=3)
    weights = present_importance(0.6, SIZES, PERMANENT, there)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights[0], [0.15, 0.45, 0.2, 0.2, 0])
    np.testing.assert_allclose(weights[1], [0.15, 0.45, 0, 0, 0.4])
    np.testing.assert_allclose(weights[2], [0.25, 0.75, 0, 0, 0])
    assert active_places(there, PERMANENT) == 1.0
    assert realized_importance(weights)[:2].sum() > 0.6


def test_a_round_without_permanent_clients_belongs_to_the_others_and_an_empty_one_to_nobody():
    weights = present_importance(0.6, SIZES, PERMANENT, [[0, 0, 1, 0, 1], [0, 0, 0, 0, 0]])
    np.testing.assert_allclose(weights, [[0, 0, 0.2, 0, 0.8], [0] * 5])


def test_a_client_without_a_column_is_refused():
    with pytest.raises(ConfigError, match="a column for each of 5 clients"):
        present_importance(0.5, SIZES, PERMANENT, [[True]])


@pytest.mark.parametrize("historical", [0.05, 0.3, 1.0])
def test_a_stream_of_passing_clients_counts_as_the_formula_says(historical):
    x, owners = np.zeros((100, 1)), np.repeat(np.arange(10), np.arange(1, 20, 2))
    federation = unalike.Federation.from_owners(x, np.zeros(100), owners, classes=None)
    stream = unalike.MemoryStream("intermittent:12,2,0.4", None, f"fixed:{historical}")
    stream.begin(federation, seed=0, rounds=15)
    there = np.array([stream.held(t) > 0 for t in range(15)])
    permanent = stream.arrivals.historical
    wanted = present_importance(historical, federation.train.sizes, permanent, there)
    np.testing.assert_allclose([stream.importance(t) for t in range(15)], wanted, atol=1e-12)
