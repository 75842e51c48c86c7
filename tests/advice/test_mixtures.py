"""Is what mixture weights are said to tell what arithmetic says?"""

from itertools import permutations

import numpy as np
import pytest

import unalike
from unalike import ConfigError
from unalike.advice.mixtures import (
    best_order,
    clusters,
    component_rows,
    component_vectors,
    dead_components,
    entropy,
    gains,
    mixture_weights,
    recovery,
    similarity,
)
from unalike.algorithms import FedAvg, FedEM, Local, LocalWork, Optimizer

WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(3), 6)


@pytest.fixture(scope="module")
def federation():
    return unalike.load("mixture:2,4,0,threshold", clients=8, seed=1, validation_fraction=0.2)


@pytest.fixture(scope="module")
def task():
    return unalike.Task.classification(unalike.models.linear(input_shape=(4,), outputs=2), 2)


def train(federation, task, algorithm, rounds=40):
    return unalike.train(federation, task, algorithm, rounds=rounds, seed=1, evaluate_every=0, devices=1)


def fedem(components):
    work, optimizer = LocalWork(epochs=1, batch_size=64), Optimizer("sgd", 3.0)
    return FedEM(components=components, work=work, optimizer=optimizer)


@pytest.fixture(scope="module")
def run(federation, task):
    return train(federation, task, fedem(2))


def test_similarity_is_a_table_of_products_or_cosines():
    plain, cosine = similarity(WEIGHTS, cosine=False), similarity(WEIGHTS)
    for s in range(6):
        for t in range(6):
            product = sum(WEIGHTS[s] * WEIGHTS[t])
            assert plain[s, t] == pytest.approx(product)
            lengths = np.sqrt(sum(WEIGHTS[s] ** 2) * sum(WEIGHTS[t] ** 2))
            assert cosine[s, t] == pytest.approx(product / lengths)


def test_entropy_is_largest_for_equal_parts_and_zero_for_one():
    assert entropy(np.full((1, 3), 1 / 3))[0] == pytest.approx(np.log(3))
    assert entropy(np.eye(3)).tolist() == [0, 0, 0]
    assert (entropy(WEIGHTS) < np.log(3)).all()


def test_a_component_without_rows_is_dead():
    weights = np.array([[0.999, 0.001, 0.0], [0.5, 0.499, 0.001]])
    np.testing.assert_allclose(component_rows(weights, [100, 100]), [149.9, 50.0, 0.1])
    assert dead_components(weights, [100, 100]) == [2]


def test_the_best_order_beats_every_other():
    rng = np.random.default_rng(1)
    truth, found = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))

    def total(order):
        pairs = zip(truth, found[list(order)], strict=True)
        return sum(a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs)

    assert total(best_order(found, truth)) == pytest.approx(max(map(total, permutations(range(4)))))


def test_a_permuted_truth_is_recovered_whole():
    truth, shares = np.random.default_rng(2).normal(size=(3, 5)), WEIGHTS
    order = [2, 0, 1]
    found = recovery(7 * truth[order], shares[:, order], truth, shares)
    assert found.components == pytest.approx(0, abs=1e-12)
    assert found.weights == pytest.approx(0, abs=1e-12)
    assert found.clusters == 1
    with pytest.raises(ConfigError, match="2 components cannot match 3"):
        best_order(truth[:2], truth)


def test_a_run_s_weights_are_those_its_clients_remember(run):
    weights = mixture_weights(run)
    assert weights.shape == (8, 2)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)


def test_clients_that_never_took_part_have_no_weights(federation, task):
    run = unalike.train(
        federation, task, fedem(2), rounds=1, per_round=3, seed=1, evaluate_every=0, devices=1
    )
    assert np.isnan(mixture_weights(run)).all(axis=1).sum() == 5


def test_other_methods_have_no_mixture_weights(federation, task):
    with pytest.raises(ConfigError, match="FedAvg has no mixture weights"):
        mixture_weights(train(federation, task, FedAvg(), 1))


def test_clusters_of_a_clustered_federation_are_found(run):
    """With alpha = 0 clients belong to the components in turn."""
    found = clusters(mixture_weights(run))
    assert len(set(found[::2])) == len(set(found[1::2])) == 1
    assert found[0] != found[1]
    assert component_vectors(run.message).shape == (2, 10)


def test_gains_are_differences_client_by_client(federation, task, run):
    alone = train(federation, task, Local(work=LocalWork(epochs=1, batch_size=64)), 5)
    wanted = run.evaluate()["accuracy"] - alone.evaluate()["accuracy"]
    np.testing.assert_allclose(gains(run, alone), wanted)
    np.testing.assert_allclose(gains(run, alone, "loss"), alone.evaluate()["loss"] - run.evaluate()["loss"])
