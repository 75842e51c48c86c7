"""Are sparse summaries what rows say, and does the server combine levels?"""

import numpy as np

from unalike.analytics.gaussian_process import GaussianProcess, Kernel
from unalike.analytics.gaussian_process.benchmark_functions import problem
from unalike.analytics.gaussian_process.maximum_likelihood import maximize_likelihood
from unalike.analytics.gaussian_process.modular_levels import spread_rows, summarize_level
from unalike.analytics.gaussian_process.multi_fidelity import (
    ALONE_BEST,
    MODULAR,
    compare_methods,
    draw_levels,
)


def test_with_all_rows_as_inducing_inputs_a_summary_is_the_rows():
    """D = I / s^2 and h = y / s^2 there: the likelihood of the rows themselves."""
    rng = np.random.default_rng(0)
    x = rng.random((12, 1))
    y = np.sin(6 * x[:, 0]) + 0.3 * rng.normal(size=12)
    kernel = Kernel("matern32")
    module = summarize_level(kernel, (x, y), inducing=12)
    noise = np.exp(2 * maximize_likelihood(kernel, [(x, y)]).params[kernel.noise]) + 1e-6
    order = np.argsort(module.inputs[:, 0])
    np.testing.assert_allclose(module.precision * noise, np.eye(12), atol=2e-2)
    np.testing.assert_allclose((module.shift * noise)[order], y[np.argsort(x[:, 0])], atol=2e-2)


def test_a_server_helps_the_highest_level_where_levels_are_alike():
    forrester = problem("forrester")
    levels, x = draw_levels(forrester, seed=3, sizes=(60, 7)), forrester.uniform(200, seed=0)
    process = GaussianProcess(domain=(forrester.low, forrester.high))
    found = compare_methods(levels, x, forrester.truth(x), process, (MODULAR, ALONE_BEST)).errors
    assert found[MODULAR] < 0.5 * found[ALONE_BEST]


def test_inducing_inputs_are_spread_and_of_the_rows():
    x = np.random.default_rng(1).random((200, 2))
    chosen = spread_rows(x, 20)
    assert len(set(chosen.tolist())) == 20
    apart = np.linalg.norm(x[chosen][:, None] - x[chosen], axis=-1)
    assert apart[~np.eye(20, dtype=bool)].min() > 0.1
