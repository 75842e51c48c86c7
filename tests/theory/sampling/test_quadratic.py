"""Does training on quadratic losses do exactly what the moments of the weights say?"""

import math
from itertools import combinations

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import (
    Binomial,
    Full,
    Multinomial,
    Optimal,
    OriginalFedAvg,
    Poisson,
    Renormalized,
    Sampler,
    Uniform,
    UniformWithReplacement,
    WeightStatistics,
)
from unalike.participation.samplers.clustered_size import ClusteredBySize
from unalike.theory.sampling.quadratic import (
    contraction,
    critical_step,
    expected_errors,
    local_progress,
    simulate,
    stationary_error,
)

RNG = np.random.default_rng(12)
IMPORTANCE = RNG.dirichlet(np.full(12, 2.0))
OPTIMA = RNG.normal(size=(12, 6))
UNEVEN = np.r_[0.9, np.full(19, 0.1 / 19)]
SCHEMES = [Full(), ClusteredBySize(per_round=4)] + [
    kind(per_round=4)
    for kind in (
        Multinomial,
        Uniform,
        UniformWithReplacement,
        Binomial,
        OriginalFedAvg,
        Renormalized,
    )
]


def named(given):
    return type(given).__name__ if isinstance(given, Sampler) else str(given)


def centered(importance, optima):
    return optima - importance @ optima


def test_a_client_that_steps_by_hand_goes_as_far_as_promised():
    model, optimum = 3.0, -1.0
    start = model
    for _ in range(7):
        model -= 0.2 * (model - optimum)
    assert model - start == pytest.approx(local_progress(0.2, 7) * (optimum - start))


@pytest.mark.parametrize("sampler", SCHEMES, ids=named)
def test_expected_errors_are_those_of_many_simulations(sampler):
    start = np.full(6, 2.0)
    setting = {"step": 0.6, "rounds": 4, "start": start}
    runs = simulate(sampler, IMPORTANCE, OPTIMA, replicas=4000, seed=1, **setting)
    expected = expected_errors(sampler.statistics(IMPORTANCE), OPTIMA, **setting)
    noise = runs.std(axis=0) / math.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - expected) <= 5 * noise + 1e-9).all()


@pytest.mark.parametrize("step", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("sampler", SCHEMES, ids=named)
def test_errors_settle_where_the_formula_says(sampler, step):
    known = sampler.statistics(IMPORTANCE)
    settled = expected_errors(known, OPTIMA, step, rounds=2000)[-1]
    assert stationary_error(known, OPTIMA, step) == pytest.approx(settled, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("sampler", SCHEMES[1:6], ids=named)
def test_long_simulations_settle_within_three_percent(sampler):
    predicted = stationary_error(sampler.statistics(IMPORTANCE), OPTIMA, 0.3)
    runs = simulate(sampler, IMPORTANCE, OPTIMA, step=0.3, rounds=5000, replicas=4, seed=2)
    assert runs[:, 100:].mean() == pytest.approx(predicted, rel=0.03)


@pytest.mark.parametrize("step", [0.1, 0.7])
def test_weights_with_an_alpha_settle_at_the_sum_of_gammas(step):
    x = centered(IMPORTANCE, OPTIMA)
    for sampler in (Multinomial(per_round=4), Uniform(per_round=4), Binomial(per_round=4)):
        known = sampler.statistics(IMPORTANCE)
        noise = sum(known.gammas[i] * (x[i] @ x[i]) for i in range(12))
        expected = step**2 * noise / (2 * step - step**2 * (1 + known.variance_of_sum))
        assert stationary_error(known, OPTIMA, step) == pytest.approx(expected, rel=1e-12)
    multinomial = step / (2 - step) * (IMPORTANCE @ (x**2).sum(axis=1)) / 4
    known = Multinomial(per_round=4).statistics(IMPORTANCE)
    assert stationary_error(known, OPTIMA, step) == pytest.approx(multinomial, rel=1e-12)


def test_the_sum_of_gammas_needs_no_matrix_and_equals_it():
    for sampler in (Multinomial(per_round=4), Uniform(per_round=4), Poisson(per_round=2)):
        known = sampler.statistics(IMPORTANCE)
        matrix = WeightStatistics(
            IMPORTANCE,
            known.mean,
            known.variance,
            known.inclusion,
            known.variance_of_sum,
            pairwise=known.covariance,
        )
        assert stationary_error(matrix, OPTIMA, 0.4) == pytest.approx(
            stationary_error(known, OPTIMA, 0.4), rel=1e-12
        )


def test_clustered_weights_settle_at_what_differs_within_clusters():
    sampler, step = ClusteredBySize(per_round=4), 0.3
    x, within = centered(IMPORTANCE, OPTIMA), 0.0
    for row in sampler.matrix(IMPORTANCE):
        middle = row @ x
        within += sum(row[i] * ((x[i] - middle) @ (x[i] - middle)) for i in range(12))
    expected = step / (2 - step) * within / 4**2
    assert stationary_error(sampler.statistics(IMPORTANCE), OPTIMA, step) == pytest.approx(
        expected, rel=1e-12
    )


def test_biased_weights_settle_around_another_optimum():
    known = Renormalized(per_round=4).statistics(IMPORTANCE)
    wrong = known.mean @ centered(IMPORTANCE, OPTIMA)
    nearly = stationary_error(known, OPTIMA, 1e-6)  # short steps average the noise away, but not the bias
    assert nearly == pytest.approx(wrong @ wrong, rel=1e-3)


def test_the_contraction_is_the_mean_square_of_what_is_left_of_an_error():
    for sampler in SCHEMES:
        same = np.zeros(12)
        known = sampler.statistics(IMPORTANCE)
        errors = expected_errors(known, same, step=0.8, rounds=3, start=2.0)
        np.testing.assert_allclose(errors[1:] / errors[:-1], contraction(known, 0.8), rtol=1e-12)


def test_uniform_draws_of_uneven_clients_can_diverge():
    known = Uniform(per_round=2).statistics(UNEVEN)
    assert known.variance_of_sum == pytest.approx(7.20499, abs=1e-5)
    assert critical_step(known) == pytest.approx(0.24375, abs=1e-5)
    assert contraction(known, critical_step(known)) == pytest.approx(1)
    optima = np.random.default_rng(3).normal(size=20)
    assert stationary_error(known, optima, 0.24) < math.inf == stationary_error(known, optima, 0.25)


def test_uniform_draws_of_uneven_clients_explode_and_multinomial_ones_do_not():
    optima = np.r_[0.0, np.linspace(-0.2, 1.8, 19)]
    setting = {"optima": optima, "rounds": 300, "replicas": 40, "seed": 4}
    bounded = simulate(Uniform(per_round=2), UNEVEN, step=0.2, **setting)
    predicted = stationary_error(Uniform(per_round=2).statistics(UNEVEN), optima, 0.2)
    assert predicted == pytest.approx(0.03, rel=0.15)
    assert bounded.max() < 1
    means = bounded[:, 100:].mean(axis=1)
    assert abs(means.mean() - predicted) < 5 * means.std() / math.sqrt(len(means))
    exploding = simulate(Uniform(per_round=2), UNEVEN, step=0.3, start=1.0, **setting)
    assert exploding[:, -1].mean() > 1e6
    for step in (0.2, 0.3):
        assert simulate(Multinomial(per_round=2), UNEVEN, step=step, **setting)[:, 100:].mean() < 0.1


def test_for_equal_clients_uniform_draws_err_less_and_the_gap_closes_with_their_number():
    gaps = []
    for n in (10, 20, 40, 80):
        importance, optima = np.full(n, 1 / n), np.random.default_rng(n).normal(size=n)
        errors = [
            stationary_error(kind(per_round=n // 2).statistics(importance), optima, 0.3)
            for kind in (Uniform, Multinomial)
        ]
        assert errors[0] / errors[1] == pytest.approx((n - n // 2) / (n - 1), rel=1e-9)
        gaps.append((errors[1] - errors[0]) / optima.var())
    assert (np.diff(gaps) < 0).all()
    assert gaps[0] > 0


def test_for_unequal_clients_uniform_draws_contract_more_slowly_but_may_err_less():
    """Optima are independent with variance one, so that E ||x_i||^2 = 1 - 2 p_i + sum_j p_j^2."""
    p = np.array([0.45, 0.15, 0.10, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.02])
    uniform, multinomial = (kind(per_round=5).statistics(p) for kind in (Uniform, Multinomial))

    def mean_error(known, step):
        spread = known.gammas @ (1 - 2 * p + p @ p)
        return step**2 * spread / (2 * step - step**2 * (1 + known.variance_of_sum))

    ratios = [mean_error(uniform, step) / mean_error(multinomial, step) for step in (0.1, 0.5, 0.9)]
    np.testing.assert_allclose(ratios, [0.90, 0.95, 1.04], atol=0.005)
    for step in (0.1, 0.5, 0.9):
        assert contraction(uniform, step) > contraction(multinomial, step)
        assert contraction(multinomial, step) == pytest.approx((1 - step) ** 2)
    assert contraction(uniform, 0.9) == pytest.approx(0.146, abs=5e-4)
    drawn = np.random.default_rng(0).normal(size=(10, 20_000))
    many = stationary_error(uniform, drawn, 0.5) / 20_000
    assert many == pytest.approx(mean_error(uniform, 0.5), rel=0.05)


def pairings(clients):
    """All ways to put an even number of clients into pairs."""
    if not clients:
        yield []
    for other in clients[1:]:
        rest = [c for c in clients[1:] if c != other]
        yield from ([(clients[0], other), *pairs] for pairs in pairings(rest))


def test_one_partition_into_pairs_may_be_better_or_worse_than_uniform_draws_but_all_are_as_good():
    x, equal = np.arange(10) - 4.5, np.full(10, 0.1)
    uniform = Uniform(per_round=5).statistics(equal)
    moments = []
    for pairs in pairings(list(range(10))):
        covariance = np.zeros((10, 10))
        for i, j in pairs:
            covariance[i, j] = covariance[j, i] = -1 / 10**2
        variance = np.full(10, 0.5 * 0.5 / 5**2)
        known = WeightStatistics(
            equal, equal, variance, np.full(10, 0.5), 0.0, pairwise=lambda c=covariance: c
        )
        assert known.total_variance == pytest.approx(uniform.total_variance)
        moments.append(known.second_moment(x[:, None]))
    assert len(moments) == 945
    cohorts = [np.mean(x[list(cohort)]) ** 2 for cohort in combinations(range(10), 5)]
    assert np.mean(cohorts) == pytest.approx(11 / 12)
    assert np.mean(moments) == pytest.approx(np.mean(cohorts))
    assert (min(moments), max(moments)) == pytest.approx((0.05, 1.65))


def test_equal_seeds_give_equal_trajectories_and_replicas_differ():
    setting = {"optima": OPTIMA, "step": 0.3, "rounds": 20, "replicas": 2}
    first, again, other = (
        simulate(Multinomial(per_round=4), IMPORTANCE, seed=seed, **setting) for seed in (1, 1, 2)
    )
    assert first.shape == (2, 21)
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first[0], first[1])
    assert not np.allclose(first, other)


def test_what_the_laboratory_cannot_do_is_one_sentence():
    with pytest.raises(ConfigError, match="Optimal asks clients first"):
        simulate(Optimal(per_round=2), IMPORTANCE, OPTIMA, 0.1, 1)
    with pytest.raises(ConfigError, match="one finite row for each of 12 clients"):
        stationary_error(Full().statistics(IMPORTANCE), OPTIMA[:3], 0.1)
