"""Are the known functions as published, and do methods use cheap levels as they should?"""

import numpy as np
import pytest

from unalike.analytics.gaussian_process import GaussianProcess, Kernel
from unalike.analytics.gaussian_process.benchmark_functions import PROBLEMS, problem
from unalike.analytics.gaussian_process.co_kriging import fit_co_kriging
from unalike.analytics.gaussian_process.maximum_likelihood import maximize_likelihood
from unalike.analytics.gaussian_process.multi_fidelity import (
    ALONE_BEST,
    CO_KRIGING,
    FEDERATED,
    NONLINEAR,
    MethodComparison,
    compare_methods,
    draw_levels,
    fit_levels,
    level_federation,
)
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.errors import ConfigError

GOLDEN = [
    ("currin", (0.5, 0.5), (7.44247958, 7.40512391)),
    ("currin", (0.2, 0.02), (13.44018712, 13.76923077)),
    ("park", (0.5,) * 4, (9.35407185, 8.92613036)),
    ("branin", (1.0, 1.0), (11.86638649, 89.51923579, 27.70290555)),
    ("hartmann", (0.5,) * 3, (0.59899248, 0.61350725, 0.62802202)),
    ("forrester", (0.1,), (0.67171161, -0.65657677)),
    ("nonlinear", (0.7,), (-0.47553693, 0.35478364)),
]


@pytest.mark.parametrize(("name", "place", "values"), GOLDEN)
def test_functions_have_their_known_values(name, place, values):
    found = [float(level(np.array([place]))[0]) for level in PROBLEMS[name].levels]
    np.testing.assert_allclose(found, values, atol=1e-8)


def test_the_borehole_in_the_middle_and_branins_valley():
    borehole, valley = problem("borehole"), np.array([[np.pi, 2.275]])
    middle = borehole.in_box(np.full((1, 8), 0.5))
    found = [float(level(middle)[0]) for level in borehole.levels]
    np.testing.assert_allclose(found, (177.17643065, 70.87076405), atol=1e-8)
    assert float(PROBLEMS["branin"].truth(valley)[0]) == pytest.approx(0.39788736, abs=1e-8)
    assert np.isfinite(PROBLEMS["currin"].truth(np.array([[0.3, 0.0]]))).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_levels_are_finite_in_the_box_and_designs_fill_it(name):
    made = PROBLEMS[name]
    x = made.design(50, 0)
    assert all(np.isfinite(level(x)).all() for level in made.levels)
    unit = (x - made.low) / (np.array(made.high) - made.low)
    for column in unit.T:
        assert np.array_equal(np.sort(np.floor(50 * column)), np.arange(50))


def test_a_lower_likelihood_is_not_found_from_anywhere_else():
    rng, kernel = np.random.default_rng(0), Kernel("rbf")
    x = rng.random((30, 1))
    y = np.sin(9 * x[:, 0]) + 0.1 * rng.normal(size=30)
    best = maximize_likelihood(kernel, [(x, y)])
    losses = [Posterior(kernel, best.params + step, x, y).loss() for step in 0.1 * rng.normal(size=(30, 3))]
    assert min(losses) >= best.loss - 1e-6
    assert np.exp(best.params[1]) == pytest.approx(0.1, rel=0.5)


def test_co_kriging_finds_a_linear_relation_of_levels():
    rng, kernel = np.random.default_rng(1), Kernel("rbf")
    low, high = np.linspace(0, 1, 40)[:, None], rng.random((6, 1))
    made = fit_co_kriging(kernel, [(low, np.sin(12 * low[:, 0])), (high, 2.5 * np.sin(12 * high[:, 0]))])
    assert made.levels[1].rho == pytest.approx(2.5, rel=0.02)
    places = rng.random((100, 1))
    assert np.abs(made.predict(places) - 2.5 * np.sin(12 * places[:, 0])).max() < 0.1


def test_methods_are_compared_on_the_same_rows_and_it_is_said_when_pooling_wins():
    made = PROBLEMS["forrester"]
    levels, x = draw_levels(made, 0, (40, 7), evenly=True), made.uniform(300, 0)
    process = GaussianProcess(rounds=40, learning_rate=0.1, domain=(made.low, made.high))
    methods = (FEDERATED, ALONE_BEST, CO_KRIGING, NONLINEAR)
    found = compare_methods(levels, x, made.truth(x), process, methods)
    assert set(found.errors) == set(methods)
    assert found.errors[CO_KRIGING] < found.errors[FEDERATED]
    assert "pools all rows, has the smaller error" in str(found.summary())


def test_a_comparison_that_the_federated_prior_wins_says_so():
    assert "smaller error than methods that pool" in str(
        MethodComparison({FEDERATED: 1.0, CO_KRIGING: 2.0}).summary()
    )


def test_the_highest_level_predicts_with_its_own_rows():
    made = PROBLEMS["forrester"]
    levels = draw_levels(made, 0, (30, 12), evenly=True)
    process = fit_levels(levels, GaussianProcess(rounds=20, learning_rate=0.1))
    x, y = levels["level 2"]
    assert np.abs(process.predict(x, "level 2") - y).max() < 0.2 * np.std(y)


def test_levels_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="3 levels, but 2 sizes"):
        draw_levels(PROBLEMS["branin"], 0, (10, 10))
    with pytest.raises(ConfigError, match="did you mean 'branin'"):
        problem("brannin")
    with pytest.raises(ConfigError, match="no levels"):
        level_federation({})
    with pytest.raises(ConfigError, match="need one"):
        PROBLEMS["currin"].design(5, 0, evenly=True)
