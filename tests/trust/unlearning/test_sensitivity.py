"""Does the ledger bound how far a client moved the model?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.trust.unlearning.sensitivity import (
    Ledger,
    accumulate,
    contraction,
    longest_step,
    removal_distance,
)


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
    realized, reference = ledger.sensitivity("realized"), ledger.sensitivity("reference")
    assert realized[1, 0] / reference[1, 0] == pytest.approx(99 / 9)
    assert realized[1, 50] == reference[1, 50] == 0


def test_a_client_that_is_alone_or_not_a_number_has_no_bound():
    alone = Ledger(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([0.5, 0.5]))
    assert np.isinf(alone.sensitivity("realized")[1, 0])
    assert alone.sensitivity("realized")[1, 1] == 0
    lost = Ledger(np.array([[np.nan, 1.0]]), np.array([[0.5, 0.5]]), np.array([0.5, 0.5]))
    assert np.isinf(lost.sensitivity("realized")[1, 0])


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


def proximal_round(hessians, rate, mu):
    """The linear map of a round of FedProx whose steps have these curvatures."""
    size = len(hessians[0])
    kept = np.eye(size)
    for hessian in hessians:
        kept = kept - rate * (hessian @ kept + mu * (kept - np.eye(size)))
    return kept


@pytest.mark.parametrize(("convexity", "mu"), [(0.0, 0.0), (0.2, 0.0), (0.0, 0.7), (0.3, 1.0)])
def test_a_round_of_the_longest_steps_keeps_what_the_contraction_says(convexity, mu):
    """Curvatures between c and L in directions that change from step to step; the bound is met where all are
    c, and a longer step breaks it."""
    rng, rate, steps = np.random.default_rng(0), longest_step(1.0, convexity, mu), 4
    limit = contraction(rate, steps, convexity, mu) if rate * (convexity + mu) <= 1 else None
    for _ in range(200):
        turns = np.linalg.qr(rng.normal(size=(steps, 3, 3)))[0]
        spectra = rng.choice([convexity, 1.0, rng.uniform(convexity, 1)], size=(steps, 3))
        hessians = np.einsum("kij,kj,klj->kil", turns, spectra, turns)
        assert np.linalg.norm(proximal_round(hessians, rate, mu), 2) <= limit + 1e-12
    flat = [convexity * np.eye(3)] * steps
    assert np.linalg.norm(proximal_round(flat, rate, mu), 2) == pytest.approx(limit)


def test_steps_of_two_over_l_plus_mu_are_too_long_where_curvature_changes():
    """Two steps of FedProx, mu = L: the distance of two models grows by a factor of 1.118."""
    across, up = np.array([1.0, -1.0]) / np.sqrt(2), np.array([0.0, 1.0])
    hessians = [np.outer(across, across), np.outer(up, up)]
    grown = proximal_round(hessians, 2 / (1 + 1), 1.0) @ np.array([1.0, 0.0])
    assert np.linalg.norm(grown) == pytest.approx(np.sqrt(1.25))
    assert np.linalg.norm(proximal_round(hessians, longest_step(1.0, 0.0, 1.0), 1.0), 2) <= 1 + 1e-12


def test_a_round_in_which_nobody_trained_discounts_nothing():
    shares = np.array([[0.5, 0.5], [0.0, 0.0]])
    ledger = Ledger(np.array([[1.0, 1.0], [0.0, 0.0]]), shares, np.full(2, 0.5), discount=0.1)
    np.testing.assert_allclose(ledger.sensitivity("full")[1:], 1.0)
