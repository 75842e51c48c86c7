"""Do the moments that samplers report equal those of all their outcomes, and of their draws?

Every scheme is written down once more as the list of its outcomes: a probability and a weight per client.
"""

from itertools import combinations, product

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.participation import (
    Binomial,
    ClusteredBySimilarity,
    ClusteredBySize,
    Cohort,
    Full,
    Multinomial,
    Optimal,
    OriginalFedAvg,
    Poisson,
    Renormalized,
    RoundContext,
    Uniform,
    UniformWithReplacement,
    WeightStatistics,
)
from unalike.participation.samplers.optimal import optimal_probabilities
from unalike.participation.samplers.statistics import distinct_variance

FEW = np.array([0.1, 0.3, 0.05, 0.2, 0.35])
MANY = np.array([0.02, 0.05, 0.22, 0.11, 0.06, 0.14, 0.18, 0.03, 0.09, 0.10])
NORMS = np.array([3.0, 0.5, 7.0, 1.0, 2.0, 1.0, 0.2, 4.0, 1.5, 0.8])


def similar(per_round, clients):
    """Sampling by similarity that has seen some updates."""
    sampler = ClusteredBySimilarity(per_round=per_round)
    updates = generator(0, "updates").normal(size=(clients, 3))
    sampler.observe(0, Cohort(np.arange(clients), np.full(clients, 1.0)), {"update": updates})
    return sampler


def choices(n, m, weights):
    cohorts = list(combinations(range(n), m))
    return [(1 / len(cohorts), [weights(i, cohort) * (i in cohort) for i in range(n)]) for cohort in cohorts]


def draws(rows, weights):
    """One client from each row of probabilities; `weights` says what every draw of a client counts."""
    n = len(weights)
    for outcome in product(range(n), repeat=len(rows)):
        chance = np.prod([row[i] for row, i in zip(rows, outcome, strict=True)])
        yield chance, [outcome.count(i) * weights[i] for i in range(n)]


def coins(chances, weights):
    for heads in product([0, 1], repeat=len(chances)):
        chance = np.prod([q if head else 1 - q for q, head in zip(chances, heads, strict=True)])
        yield chance, np.array(heads) * weights


def schemes(p, m, norms):
    """Each sampler with all its outcomes."""
    n = len(p)
    best = optimal_probabilities(p * norms, m)
    by_size, by_likeness = ClusteredBySize(per_round=m), similar(m, n)
    each = np.full(n, 1 / m)
    return {
        "full": (Full(), [(1.0, p)]),
        "uniform": (Uniform(per_round=m), choices(n, m, lambda i, _: p[i] * n / m)),
        "with replacement": (
            UniformWithReplacement(per_round=m),
            draws(np.full((m, n), 1 / n), p * n / m),
        ),
        "original": (OriginalFedAvg(per_round=m), choices(n, m, lambda i, _: p[i])),
        "renormalized": (
            Renormalized(per_round=m),
            choices(n, m, lambda i, cohort: p[i] / sum(p[j] for j in cohort)),
        ),
        "md": (Multinomial(per_round=m), draws([p] * m, each)),
        "binomial": (Binomial(per_round=m), coins(np.full(n, m / n), p * n / m)),
        "poisson": (Poisson(per_round=m), coins(m * p, each)),
        "optimal": (Optimal(per_round=m), coins(best, p / best)),
        "by size": (by_size, draws(by_size.matrix(p), each)),
        "by similarity": (by_likeness, draws(by_likeness.matrix(p), each)),
    }


NAMES = list(schemes(FEW, 2, NORMS[:5]))
UNBIASED = [name for name in NAMES if name not in ("original", "renormalized")]
COVARIANCES = [name for name in NAMES if name != "renormalized"]
WITH_ALPHA = [name for name in UNBIASED if not name.startswith("by")]


def moments(sampler, p, norms):
    return sampler.statistics(p, norms) if isinstance(sampler, Optimal) else sampler.statistics(p)


def table(outcomes):
    chances, weights = zip(*outcomes, strict=True)
    return np.array(chances), np.array(weights, float)


@pytest.mark.parametrize("per_round", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_moments_equal_those_of_all_outcomes(name, per_round):
    sampler, outcomes = schemes(FEW, per_round, NORMS[:5])[name]
    chances, weights = table(outcomes)
    found = moments(sampler, FEW, NORMS[:5])
    mean = chances @ weights
    around = weights - mean
    sums, distinct = weights.sum(axis=1), (weights > 0).sum(axis=1)
    assert chances.sum() == pytest.approx(1.0)
    near = 1e-12 if name in COVARIANCES else 1e-9  # a quadrature
    assert np.allclose(found.mean, mean, atol=near)
    assert np.allclose(found.variance, chances @ around**2, atol=near)
    assert np.allclose(found.inclusion, chances @ (weights > 0), atol=1e-12)
    assert found.variance_of_sum == pytest.approx(chances @ (sums - chances @ sums) ** 2, abs=1e-12)
    assert found.expected_clients == pytest.approx(chances @ distinct, abs=1e-12)
    assert found.clients_variance == pytest.approx(
        chances @ distinct**2 - (chances @ distinct) ** 2, abs=1e-11
    )
    if name in COVARIANCES:
        assert np.allclose(found.covariance(), around.T @ (chances[:, None] * around), atol=1e-12)
    assert found.unbiased == np.allclose(mean, FEW)


@pytest.mark.parametrize("name", NAMES)
def test_moments_equal_those_of_draws(name):
    """Within five standard errors, each estimated from the fourth moments of the draws."""
    sampler, _ = schemes(MANY, 4, NORMS)[name]
    found = moments(sampler, MANY, NORMS)
    turn = RoundContext(0, MANY, seed=3, ask=lambda question, clients: NORMS[clients])
    weights, count = np.zeros((12_000, 10)), 12_000
    for row in weights:
        clients, values, _ = sampler.cohort(turn)
        row[clients] = values

    def agree(samples, expected):
        error = samples.std(axis=0) / np.sqrt(count)
        assert (np.abs(samples.mean(axis=0) - expected) <= 5 * error + 1e-12).all()

    around, distinct = weights - found.mean, (weights > 0).sum(axis=1)
    agree(weights, found.mean)
    agree(weights > 0, found.inclusion)
    agree(around**2, found.variance)
    if name in COVARIANCES:
        agree(around[:, :, None] * around[:, None, :], found.covariance())
    agree(around.sum(axis=1) ** 2, found.variance_of_sum)
    agree(distinct, found.expected_clients)
    agree((distinct - found.expected_clients) ** 2, found.clients_variance)


@pytest.mark.parametrize("name", WITH_ALPHA)
def test_one_alpha_ties_variances_sums_and_second_moments_together(name):
    found = moments(schemes(MANY, 4, NORMS)[name][0], MANY, NORMS)
    squares = MANY @ MANY
    spread, sums, alpha = found.total_variance, found.variance_of_sum, found.alpha
    assert sums == pytest.approx(spread - alpha * (1 - squares), abs=1e-12)
    assert alpha == pytest.approx((spread - sums) / (1 - squares), abs=1e-12)
    assert found.gamma == pytest.approx(spread + alpha * squares, abs=1e-12)
    assert 0 <= alpha <= 1
    x = generator(1, "x").normal(size=(10, 3))
    mean = ((MANY @ x) ** 2).sum()
    closed = found.gammas @ (x**2).sum(axis=1) + (1 - alpha) * mean
    assert found.second_moment(x) == pytest.approx(closed, abs=1e-12)


@pytest.mark.parametrize("name", COVARIANCES)
def test_the_second_moment_is_the_mean_over_all_outcomes(name):
    sampler, outcomes = schemes(FEW, 2, NORMS[:5])[name]
    chances, weights = table(outcomes)
    x = generator(2, "x").normal(size=(5, 4))
    expected = chances @ ((weights @ x) ** 2).sum(axis=1)
    assert moments(sampler, FEW, NORMS[:5]).second_moment(x) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["by size", "by similarity"])
def test_groups_only_take_from_the_second_moment_of_multinomial_sampling(name):
    sampler = schemes(MANY, 4, NORMS)[name][0]
    x, r = generator(3, "x").normal(size=(10, 3)), sampler.matrix(MANY)
    squares, mean = MANY @ (x**2).sum(axis=1), ((MANY @ x) ** 2).sum()
    found = sampler.statistics(MANY)
    assert found.second_moment(x) == pytest.approx(squares / 4 + mean - ((r @ x) ** 2).sum() / 16, abs=1e-12)
    assert found.second_moment(x) <= Multinomial(per_round=4).statistics(MANY).second_moment(x)
    assert (found.alpha, found.gammas, found.gamma) == (None, None, 0.25)


EVEN, UNEVEN = np.full(100, 1), np.repeat([100, 250, 500, 750, 1000], [10, 30, 30, 20, 10])
PUBLISHED = {
    "squares": (0.01, 0.01306196),
    "md variance": (0.099, 0.09869380),
    "uniform variance": (0.09, 0.11755766),
    "clustered variance": (0.09, 0.08749070),
    "md gamma": (0.1, 0.1),
    "uniform gamma": (0.0909091, 0.11874511),
    "uniform sum": (0.0, 0.02783602),
}


@pytest.mark.parametrize(("place", "sizes"), [(0, EVEN), (1, UNEVEN)])
def test_a_hundred_clients_have_the_published_figures(place, sizes):
    p = sizes / sizes.sum()
    md, uniform = Multinomial(per_round=10).statistics(p), Uniform(per_round=10).statistics(p)
    clustered = ClusteredBySize(per_round=10, sizes=sizes).statistics(p)
    found = {
        "squares": p @ p,
        "md variance": md.total_variance,
        "uniform variance": uniform.total_variance,
        "clustered variance": clustered.total_variance,
        "md gamma": md.gamma,
        "uniform gamma": uniform.gamma,
        "uniform sum": uniform.variance_of_sum,
    }
    for name, values in PUBLISHED.items():
        assert found[name] == pytest.approx(values[place], abs=1e-6)
    assert md.expected_clients == pytest.approx((9.5618, 9.43537)[place], abs=5e-5)
    assert clustered.expected_clients == pytest.approx((10, 9.97237)[place], abs=5e-6)


@pytest.mark.parametrize("clients", [10, 20, 40, 80])
def test_uniform_draws_of_equal_clients_are_less_random_by_a_known_factor(clients):
    p, m = np.full(clients, 1 / clients), clients // 2
    uniform, md = Uniform(per_round=m).statistics(p), Multinomial(per_round=m).statistics(p)
    assert uniform.gamma / md.gamma == pytest.approx((clients - m) / (clients - 1), rel=1e-12)


def test_one_client_is_always_drawn():
    for sampler in (Full(), Uniform(per_round=1), Multinomial(per_round=1), ClusteredBySize(per_round=1)):
        found = sampler.statistics(np.ones(1))
        assert found.total_variance == pytest.approx(0.0)
        assert found.inclusion == pytest.approx([1.0])


def test_drawing_all_of_the_clients_leaves_no_variance():
    found = Uniform(per_round=10).statistics(MANY)
    assert (found.alpha, found.total_variance, found.variance_of_sum) == (0, 0, 0)
    assert Multinomial(per_round=10).statistics(MANY).total_variance > 0


def test_covariances_that_are_not_known_are_not_made_up():
    found = WeightStatistics(FEW, FEW, FEW, FEW, 0.0)
    assert found.gamma is None
    with pytest.raises(ValueError, match="no closed form"):
        found.covariance()


def test_asking_for_covariances_leaves_the_schemes_own_matrix_alone():
    own = np.zeros((2, 2))
    found = WeightStatistics(FEW[:2], FEW[:2], np.ones(2), FEW[:2], 0.0, pairwise=lambda: own)
    assert found.covariance().tolist() == [[1, 0], [0, 1]]
    assert not own.any()


def test_the_number_of_distinct_clients_varies_by_pairs():
    # Two clients of which exactly one is there, and one that tosses a fair coin.
    absent = np.array([0.5, 0.5, 0.5])
    together = np.array([[9, 0, 0.25], [0, 9, 0.25], [0.25, 0.25, 9]])
    assert distinct_variance(absent, together) == pytest.approx(0.25)
