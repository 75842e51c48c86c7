"""Is a client's message the first right singular vector of its rows, with a sign that means something?"""

import numpy as np
import pytest

from unalike.data.federation import Split
from unalike.data.similarity.principal_direction import (
    client_messages,
    directions_of,
    principal_direction,
    shuffled_messages,
)
from unalike.errors import DataError


def singular_vector(x):
    return np.linalg.svd(np.asarray(x, np.float64), full_matrices=False)[2][0]


@pytest.mark.parametrize("shape", [(40, 6), (5, 30), (1, 8)])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_it_is_the_first_right_singular_vector(shape, low):
    x = np.random.default_rng(0).uniform(low, 1, shape)
    found = principal_direction(x)
    assert abs(found @ singular_vector(x)) == pytest.approx(1, abs=1e-9)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-12)


def test_single_precision_is_nearly_as_good():
    x = np.random.default_rng(1).random((300, 100), np.float32)
    assert 1 - abs(principal_direction(x) @ singular_vector(x)) < 1e-9


def test_images_of_bytes_are_read_as_images():
    x = np.random.default_rng(2).integers(0, 256, (20, 4, 4, 3), np.uint8)
    np.testing.assert_allclose(principal_direction(x), principal_direction(x / 255), atol=1e-6)


@pytest.mark.parametrize("scale", [0.5, 7.0])
def test_neither_contrast_nor_copies_change_it(scale):
    x = np.random.default_rng(3).random((30, 9))
    np.testing.assert_allclose(principal_direction(scale * x), principal_direction(x), atol=1e-12)
    np.testing.assert_allclose(principal_direction(np.vstack([x, x])), principal_direction(x), atol=1e-9)


def test_the_direction_of_non_negative_rows_is_non_negative():
    x = np.random.default_rng(4).random((30, 9)) * (np.random.default_rng(5).random((30, 9)) < 0.3)
    assert principal_direction(x).min() >= -1e-9


def test_the_sign_is_that_of_the_mean_or_else_of_the_largest_entry():
    x = np.random.default_rng(6).normal(size=(30, 4)) - 0.5
    assert principal_direction(x) @ x.mean(axis=0) > 0
    balanced = np.array([[3.0, -4.0], [-3.0, 4.0]])
    np.testing.assert_allclose(principal_direction(balanced), [-0.6, 0.8])
    np.testing.assert_allclose(np.abs(principal_direction(balanced, raw_sign=True)), [0.6, 0.8])


def test_two_directions_that_are_nearly_as_strong_are_told_apart():
    x = np.diag([1.0, 1.0 + 1e-5]) + 1e-7
    np.testing.assert_allclose(np.abs(principal_direction(x)), np.abs(singular_vector(x)), atol=1e-9)


def test_clients_without_anything_but_zeros_have_none():
    x = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    split = Split(x, np.zeros(3, int), np.array([0, 1, 2, 2, 3]))
    who, messages = client_messages(split)
    assert who.tolist() == [0, 3]
    assert messages.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(DataError, match="all zero"):
        principal_direction(np.zeros((3, 2)))
    with pytest.raises(DataError, match="no client has a row"):
        directions_of(np.zeros((3, 2)), [np.arange(3)])


def test_symbols_and_missing_values_are_refused():
    with pytest.raises(DataError, match="not symbols"):
        directions_of(np.ones((3, 2), np.int64), [np.arange(3)])
    with pytest.raises(DataError, match="finite"):
        principal_direction([[1.0, np.nan], [1.0, 2.0]])


def test_shuffled_clients_keep_their_sizes():
    x = np.random.default_rng(7).random((10, 3))
    split = Split(x, np.zeros(10, int), np.array([0, 10, 10]))
    who, messages = shuffled_messages(split, np.random.default_rng(0))
    assert who.tolist() == [0]  # the second has no rows, shuffled or not
    np.testing.assert_allclose(messages[0], principal_direction(x), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 7), (12, 30)])
def test_a_mean_row_that_is_orthogonal_to_the_first_direction_does_not_stop_the_search(dtype, shape):
    """Standardized columns and a constant: the mean row is an eigenvector of its own."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=shape) @ rng.normal(size=(shape[1], shape[1]))
        x = np.column_stack([(x - x.mean(0)) / x.std(0), np.ones(len(x))]).astype(dtype)
        first = np.linalg.svd(x.astype(np.float64))[2][0]
        assert abs(first @ principal_direction(x)) == pytest.approx(1, abs=1e-5)
