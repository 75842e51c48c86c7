"""Do clients that look alike weigh more for each other?"""

import numpy as np
import pytest

from unalike import ConfigError, Federation
from unalike.algorithms.shared.similarity_weights import SimilarityWeights, similarity_weights


def clients(*rows):
    """Clients with these rows."""
    data = {str(i): {"train": (np.array(x, np.float32), np.zeros(len(x), int))} for i, x in enumerate(rows)}
    return Federation.from_clients(data, classes=1)


def test_weights_are_minus_the_logarithm_of_half_the_cosine_distance():
    angles = np.array([0.0, 0.3, np.pi / 2, np.pi])
    edges = similarity_weights(clients(*([[np.cos(a), np.sin(a)]] for a in angles))).edges
    expected = -np.log(np.sin(angles[1:] / 2) ** 2)
    assert np.allclose(edges[0, 1:], expected, atol=1e-6)
    assert np.allclose(edges[0, 2], np.log(2))
    assert np.array_equal(edges, edges.T)
    assert not np.diag(edges).any()


def test_a_client_without_a_direction_is_like_nobody():
    weights = similarity_weights(clients([[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 0.0]]))
    assert weights.importance.tolist() == [0.5, 0.5, 0.0]
    assert weights.mixing.sum(axis=1).tolist() == [1.0, 1.0, 0.0]


def test_equal_tables_are_equal_keys():
    one, same, other = (SimilarityWeights(factor * (1 - np.eye(3))) for factor in (1, 1, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        (np.ones(3), "per pair"),
        (np.ones((2, 2)), "diagonal"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "not negative"),
    ],
)
def test_impossible_tables_are_refused(edges, words):
    with pytest.raises(ConfigError, match=words):
        SimilarityWeights(edges)
