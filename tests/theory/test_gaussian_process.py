"""Do the bounds of federated Gaussian processes say what they should, and where they say nothing?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.gaussian_process import (
    LEAST_DECAY,
    eigenvalue_decay,
    explain_coverage,
    is_covered,
    least_scaling,
    matern_exponent,
    noise_floor,
    optimization_error,
    signal_floor,
    step_size_range,
    strength,
)


def test_the_least_decay_is_where_the_matern_exponent_changes_sign():
    assert pytest.approx(1.896, abs=1e-3) == LEAST_DECAY
    assert matern_exponent(LEAST_DECAY) == pytest.approx(0, abs=1e-12)
    assert matern_exponent(3.0, alpha=0.1) < matern_exponent(3.0)


def test_the_decay_is_that_of_the_eigenvalues_of_a_matern_kernel():
    x = np.linspace(0, 1, 800)
    r = np.sqrt(3) * np.abs(x[:, None] - x[None]) / 0.3
    values = np.linalg.eigvalsh((1 + r) * np.exp(-r))[::-1]
    j = np.arange(10, 60)
    slope = np.polyfit(np.log(j), np.log(values[j]), 1)[0]
    assert -slope / 2 == pytest.approx(eigenvalue_decay(1.5, 1), rel=0.1)


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "matern52", "ou", "periodic"])
@pytest.mark.parametrize("inputs", [1, 2, 4, 8, 21])
def test_words_and_verdict_agree(kernel, inputs):
    assert explain_coverage(kernel, inputs).startswith("The bounds apply") == is_covered(kernel, inputs)
    if inputs > 1:
        assert not is_covered(kernel, inputs)


def test_gamma_is_positive_above_the_least_scaling_only():
    least = least_scaling(2.0, 0.5, 1.5)
    assert strength(1.01 * least, 2.0, 0.5, 1.5) > 0 > strength(0.99 * least, 2.0, 0.5, 1.5)
    low, high = step_size_range(strength(2 * least, 2.0, 0.5, 1.5))
    assert high / low == pytest.approx(4 / 3)
    with pytest.raises(ConfigError, match="no step size"):
        step_size_range(0.0)


def test_errors_fall_with_steps_and_batches_and_grow_with_local_steps():
    assert optimization_error(1, 1, 5, 99) == pytest.approx(2 * 130 / 100)
    assert optimization_error(1, 1, 5, 199) < optimization_error(1, 1, 5, 99)
    assert optimization_error(1, 1, 5, 99) < optimization_error(1, 1, 10, 99)
    assert optimization_error(1, 1, 5, 99) < optimization_error(1, 1, 5, 99, drawn=4)
    for floor in (signal_floor, noise_floor):
        assert floor(1000) < floor(100)
    assert noise_floor(100) < signal_floor(100)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: eigenvalue_decay(0.0, 1),
        lambda: noise_floor(1),
        lambda: strength(1.0, 1.0, 2.0, 1.0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ConfigError):
        wrong()
