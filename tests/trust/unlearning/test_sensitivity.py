"""Does the ledger bound how far a client moved the model?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.trust.unlearning.sensitivity import Ledger, accumulate, contraction, removal_distance


def random_round(seed, clients=6, entries=9):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(clients)), rng.normal(size=(clients, entries)), rng


@pytest.mark.parametrize("seed", range(5))
def test_one_norm_says_how_far_the_mean_moves_without_a_client(seed):
    weights, models, _ = random_round(seed)
    mean = weights @ models
    for c in range(len(weights)):
        others = np.arange(len(weights)) != c
        without = weights[others] @ models[others] / weights[others].sum()
        norm = np.linalg.norm(models[c] - mean)
        assert removal_distance(weights[c], norm) == pytest.approx(np.linalg.norm(without - mean), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_group_bound_holds_and_is_exact_for_one_client(seed):
    weights, models, _ = random_round(seed)
    mean = weights @ models
    norms = np.linalg.norm(models - mean, axis=1)
    ledger = Ledger(norms[None], weights[None], weights)
    group = np.array([0, 2, 3])
    others = np.setdiff1d(np.arange(6), group)
    moved = np.linalg.norm(weights[others] @ models[others] / weights[others].sum() - mean)
    assert moved <= ledger.group_sensitivity("full", group)[1, 0] + 1e-12
    alone = ledger.group_sensitivity("full", np.array([2]))[1, 0]
    assert alone == pytest.approx(ledger.sensitivity("full")[1, 2], rel=1e-12)


def train(hessians, targets, weights, start, rate, steps, rounds, ridge=0.0):
    """Full-batch gradient descent on quadratics: the models of all rounds, and all local models."""
    models, sent = [start], []
    for _ in range(rounds):
        local = np.repeat(models[-1][None], len(weights), axis=0)
        for _ in range(steps):
            slopes = np.einsum("cij,cj->ci", hessians, local - targets) + ridge * local
            local = local - rate * slopes
        sent.append(local)
        models.append(weights @ local)
    return np.array(models), np.array(sent)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_the_distance_to_the_model_without_a_client_is_below_its_sensitivity(seed, ridge):
    rng = np.random.default_rng(seed)
    roots, targets = rng.normal(size=(5, 4, 4)), rng.normal(size=(5, 4))
    hessians = roots @ roots.transpose(0, 2, 1) + 0.05 * np.eye(4)
    values = np.linalg.eigvalsh(hessians)
    rate, weights, start = 1 / (values.max() + ridge), np.full(5, 0.2), rng.normal(size=4)
    models, sent = train(hessians, targets, weights, start, rate, 3, 30, ridge)
    norms = np.linalg.norm(sent - models[1:, None], axis=2)
    shares = np.tile(weights, (30, 1))
    base = Ledger(norms, shares, weights).sensitivity("full")
    q = contraction(rate, 3, ridge + values.min())
    discounted = Ledger(norms, shares, weights, q).sensitivity("full")
    for c in range(5):
        rest = np.arange(5) != c
        without, _ = train(hessians[rest], targets[rest], np.full(4, 0.25), start, rate, 3, 30, ridge)
        distance = np.linalg.norm(models - without, axis=1)
        assert (distance <= discounted[:, c] + 1e-12).all()
        assert distance[1] == pytest.approx(base[1, c], rel=1e-9)
    assert (discounted <= base + 1e-12).all()
    assert (discounted[-1] < base[-1]).all()


def test_equal_clients_move_nothing():
    ledger = Ledger(np.zeros((4, 3)), np.full((4, 3), 1 / 3), np.full(3, 1 / 3))
    assert (ledger.sensitivity("full") == 0).all()


def test_the_reference_mode_counts_a_drawn_client_less():
    weights = np.zeros((1, 100))
    weights[0, :10] = 0.1
    ledger = Ledger((weights > 0) * 1.0, weights, np.full(100, 0.01))
    realised, reference = ledger.sensitivity("realised"), ledger.sensitivity("reference")
    assert realised[1, 0] / reference[1, 0] == pytest.approx(99 / 9)
    assert realised[1, 50] == reference[1, 50] == 0


def test_a_client_that_is_alone_or_not_a_number_has_no_bound():
    alone = Ledger(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([0.5, 0.5]))
    assert np.isinf(alone.sensitivity("realised")[1, 0])
    assert alone.sensitivity("realised")[1, 1] == 0
    lost = Ledger(np.array([[np.nan, 1.0]]), np.array([[0.5, 0.5]]), np.array([0.5, 0.5]))
    assert np.isinf(lost.sensitivity("realised")[1, 0])


def test_the_server_rate_scales_what_is_added():
    given = (np.ones((2, 2)), np.full((2, 2), 0.5), np.full(2, 0.5))
    whole, half = Ledger(*given), Ledger(*given, server_rate=0.5)
    np.testing.assert_allclose(half.sensitivity("full"), 0.5 * whole.sensitivity("full"))


def test_the_recursion_is_the_discounted_sum():
    increments, q = np.random.default_rng(0).random((7, 2)), 0.8
    direct = [(q ** np.arange(n - 1, -1, -1)) @ increments[:n] if n else np.zeros(2) for n in range(8)]
    np.testing.assert_allclose(accumulate(increments, q), direct)


@pytest.mark.parametrize("bad", [(0.1, 1, -1.0), (2.0, 1, 0.6)])
def test_impossible_constants_are_refused(bad):
    with pytest.raises(ConfigError):
        contraction(*bad)
