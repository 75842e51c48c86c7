"""Are directions singular vectors, and are weights minus the logarithm of misalignments?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms.shared.similarity_weights import (
    SimilarityWeights,
    principal_direction,
    weights_of_directions,
)


@pytest.mark.parametrize("shape", [(30, 5), (4, 9), (1, 3)])
def test_a_direction_is_the_first_right_singular_vector_on_the_side_of_the_mean(shape):
    rows = np.random.default_rng(1).normal(0.5, 1.0, shape)
    found, expected = principal_direction(rows), np.linalg.svd(rows)[2][0]
    assert np.allclose(np.abs(found @ expected), 1.0)
    assert found @ rows.mean(axis=0) > 0
    # neither scale nor copies count
    assert np.allclose(principal_direction(7 * np.vstack([rows, rows])), found)


def test_bytes_of_images_point_where_their_floats_point():
    pixels = np.random.default_rng(2).integers(0, 255, (6, 3, 3, 1)).astype(np.uint8)
    assert np.allclose(principal_direction(pixels), principal_direction(pixels / 255.0))


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), np.full((1, 2), np.nan), np.zeros((0, 2))])
def test_rows_without_a_direction_have_none(rows):
    assert principal_direction(rows).tolist() == [0.0, 0.0]


def test_weights_are_minus_the_logarithm_of_half_the_cosine_distance():
    angles = np.array([0.0, 0.3, np.pi / 2, np.pi])
    edges = weights_of_directions(np.stack([np.cos(angles), np.sin(angles)], axis=1)).edges
    expected = -np.log(np.sin((angles[:, None] - angles[None, :])[0, 1:] / 2) ** 2)
    assert np.allclose(edges[0, 1:], expected)
    assert np.allclose(edges[0, 2], np.log(2))
    assert np.array_equal(edges, edges.T)
    assert not np.diag(edges).any()


def test_a_client_without_a_direction_is_like_nobody():
    weights = weights_of_directions(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
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
