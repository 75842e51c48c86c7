"""Do misalignments, weights, Laplacian and homogeneity keep the identities that define them?"""

import numpy as np
import pytest
from scipy.stats import norm

from unalike.data.similarity.graph import (
    SMALLEST,
    adjacency,
    degree_weights,
    fiedler_order,
    laplacian,
    spectrum,
    variability,
)
from unalike.data.similarity.homogeneity import (
    fit_normal,
    homogeneity,
    homogeneity_of_spectrum,
    subset_homogeneity,
)
from unalike.data.similarity.misalignment import misalignment, pairs
from unalike.errors import DataError

CLIENTS = 15


@pytest.fixture(params=[0.0, -1.0], ids=["non-negative", "any sign"])
def messages(request):
    rows = np.random.default_rng(0).uniform(request.param, 1, (CLIENTS, 8))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def weights(messages):
    return adjacency(misalignment(messages))


def test_misalignment_is_a_quarter_of_the_squared_distance(messages):
    naive = [[np.sum((a - b) ** 2) / 4 for b in messages] for a in messages]
    np.testing.assert_allclose(misalignment(messages), naive, atol=1e-12)


def test_non_negative_messages_are_at_most_at_right_angles():
    rows = np.random.default_rng(1).random((30, 5)) * (np.random.default_rng(2).random((30, 5)) < 0.4)
    rows = rows[rows.any(axis=1)]
    found = misalignment(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    assert found.max() <= 0.5
    assert homogeneity(adjacency(found)) >= np.log(2) / 2


def test_an_orthogonal_map_of_all_features_changes_nothing(messages):
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(8, 8)))[0]
    np.testing.assert_allclose(misalignment(messages @ turn), misalignment(messages), atol=1e-12)


def test_three_expressions_of_homogeneity_agree(weights):
    found = spectrum(weights)
    expected = pairs(weights).mean() / 2
    assert homogeneity(weights) == pytest.approx(expected, rel=1e-12)
    assert homogeneity_of_spectrum(found.values) == pytest.approx(expected, rel=1e-9)
    assert np.trace(laplacian(weights)) / (2 * CLIENTS * (CLIENTS - 1)) == pytest.approx(expected, rel=1e-12)
    assert found.values[1:].mean() == pytest.approx(2 * CLIENTS * expected, rel=1e-9)


def test_the_laplacian_has_no_negative_eigenvalue_and_a_constant_null_vector(weights):
    np.testing.assert_allclose(laplacian(weights) @ np.ones(CLIENTS), 0, atol=1e-9)
    assert spectrum(weights).values.min() >= 0
    assert spectrum(weights).values[0] == 0


def test_degree_weights_are_shares_of_the_trace(weights):
    shares = degree_weights(weights.sum(axis=1))
    assert shares.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(shares, np.diag(laplacian(weights)) / np.trace(laplacian(weights)))
    assert degree_weights(np.zeros(4)).tolist() == [0.25] * 4


def test_variability_is_a_trace_and_a_sum_over_pairs(weights):
    values = np.random.default_rng(4).normal(size=(CLIENTS, 3))
    trace = np.trace(values.T @ laplacian(weights) @ values)
    naive = sum(
        weights[i, j] * np.sum((values[i] - values[j]) ** 2) / 2
        for i in range(CLIENTS)
        for j in range(CLIENTS)
    )
    assert variability(weights, values) == pytest.approx(trace, rel=1e-9)
    assert variability(weights, values) == pytest.approx(naive, rel=1e-9)
    assert variability(weights, np.ones((CLIENTS, 2))) == pytest.approx(0, abs=1e-9)
    found = spectrum(weights)
    assert variability(weights, found.vectors[:, [3]]) == pytest.approx(found.values[3], rel=1e-9)


def test_twins_have_the_largest_weight_and_opposites_none():
    weights = adjacency(misalignment([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]))
    assert weights[0, 1] == pytest.approx(-np.log(SMALLEST))
    assert weights[0, 2] == 0
    assert np.isfinite(weights).all()


def test_two_clients_have_one_edge():
    weights = adjacency(misalignment([[1.0, 0.0], [0.0, 1.0]]))
    np.testing.assert_allclose(spectrum(weights).values, [0, 2 * np.log(2)])
    assert homogeneity(weights) == pytest.approx(np.log(2) / 2)


def test_one_client_has_no_homogeneity():
    alone = adjacency(misalignment([[1.0, 0.0]]))
    assert np.isnan(homogeneity(alone))
    assert spectrum(alone).fiedler.tolist() == [0.0]
    assert spectrum(alone).layout().tolist() == [[0.0, 0.0]]


def test_fiedler_order_puts_those_together_who_are_alike():
    kind = np.array([0, 1, 0, 1, 1, 0])
    rows = np.eye(2)[kind] + 0.05 * np.random.default_rng(5).random((6, 2))
    weights = adjacency(misalignment(rows / np.linalg.norm(rows, axis=1, keepdims=True)))
    ordered = kind[fiedler_order(spectrum(weights))]
    assert np.abs(np.diff(ordered)).sum() == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([[1.0], [0.6, 0.8]], "same number of features"),
        ([[np.nan, 1.0]], "finite"),
        ([[1.0, 1.0]], "unit vectors"),
        ([1.0, 0.0], "rows of a table"),
    ],
)
def test_what_is_no_table_of_unit_vectors_is_refused(bad, words):
    with pytest.raises(DataError, match=words):
        misalignment(bad)


def test_the_fit_finds_a_normal_law_and_another_one_is_farther():
    quantiles = norm(6, 0.5).ppf((np.arange(4000) + 0.5) / 4000)
    theta, phi, distance = fit_normal(quantiles)
    assert (theta, phi) == pytest.approx((6, 0.5), abs=1e-2)
    assert distance < 0.01 < fit_normal(np.exp(quantiles))[2]
    assert fit_normal(np.ones(3)).distance == 1
    assert np.isnan(fit_normal(np.zeros(0)).theta)


def test_a_cohort_of_everyone_is_as_homogeneous_as_everyone(weights):
    some = np.array([3, 1, 3, 7])
    everyone, few = subset_homogeneity(weights, [np.arange(CLIENTS), some])
    assert everyone == pytest.approx(homogeneity(weights))
    assert few == pytest.approx((weights[1, 3] + weights[1, 7] + weights[3, 7]) / 6)
