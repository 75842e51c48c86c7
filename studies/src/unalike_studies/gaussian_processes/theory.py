"""Claims on federated Gaussian processes that need no training: exact values, identities, coverage.

Yue and Kontar, Federated Gaussian Process (2024), sections on the algorithm and its theory.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from scipy.optimize import approx_fprime

from unalike.analytics.gaussian_process import GaussianProcess
from unalike.analytics.gaussian_process.benchmark_functions import PROBLEMS
from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.analytics.gaussian_process.likelihood import Likelihood, negative_log_likelihood
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.core.precision import precision
from unalike.core.random import generator
from unalike.theory.gaussian_process import explain_coverage, is_covered
from unalike.typing import Float64s

from ..study import Claim, at_most, matches
from .data import federation_of

X, Y = np.array([[0.0], [0.5], [1.0]]), np.array([1.0, -1.0, 0.5])
PLACES = np.array([[0.25], [0.8]])
KNOWN = {
    "rbf": (7.199201, (-0.237340, -0.370065), (0.025020, 0.024353)),
    "matern32": (5.268325, (-0.089644, -0.188180), (0.170302, 0.158593)),
}
VALUES = (
    ("currin", (0.5, 0.5), (7.44247958, 7.40512391)),
    ("currin", (0.2, 0.02), (13.44018712, 13.76923077)),
    ("park", (0.5,) * 4, (9.35407185, 8.92613036)),
    ("branin", (1.0, 1.0), (11.86638649, 89.51923579, 27.70290555)),
    ("hartmann", (0.5,) * 3, (0.59899248, 0.61350725, 0.62802202)),
    ("forrester", (0.1,), (0.67171161, -0.65657677)),
    ("nonlinear", (0.7,), (-0.47553693, 0.35478364)),
)
EXPERIMENTS = (("rbf", 1), ("matern32", 1), ("rbf", 2), ("rbf", 8), ("matern32", 21))
"""Kernels and numbers of inputs of published experiments."""


def theory_claims(quick: bool) -> Iterator[Claim]:
    """G1, G2 and where the theory applies."""
    yield from value_claims()
    yield from gradient_claims()
    yield from function_claims()
    yield from descent_claims()
    yield from coverage_claims()


def value_claims() -> Iterator[Claim]:
    """G1: likelihoods and predictions of three rows."""
    for name, (loss, mean, variance) in KNOWN.items():
        kernel = Kernel(name)
        params = kernel.vector(1.0, 0.1, 0.5)
        found = _likelihood(kernel, params, X, Y, 0.0)
        words, golden = f"{name}: negative log likelihood of three rows", "golden value of a NumPy program"
        yield matches("G1", words, float(found.loss), loss, 1e-6, derivation=golden)
        said = Posterior(kernel, params, X, Y).predict(PLACES)
        gap = max(np.abs(said.mean - mean).max(), np.abs(said.variance - variance).max())
        yield at_most("G1", f"{name}: gap of means and variances at two places", [float(gap)], 1e-6)


def gradient_claims() -> Iterator[Claim]:
    """G1: closed-form gradients against finite differences."""
    rng = generator(0, "gradients")
    x, y = rng.random((15, 3)), rng.normal(size=15)
    for name in KNOWN:
        for ard in (False, True):
            kernel = Kernel(name, 3, ard)
            params = kernel.vector(1.2, 0.2, 0.6)
            slope = approx_fprime(params, lambda u, k=kernel: float(_likelihood(k, u, x, y).loss), 1e-6)
            gap = float(np.abs(np.asarray(_likelihood(kernel, params, x, y).gradient) - slope).max())
            words = (
                f"{name}, {'a length per input' if ard else 'one length'}: gradient less finite differences"
            )
            yield at_most("G1", words, [gap], 1e-3)


def function_claims() -> Iterator[Claim]:
    """G1: the seven functions."""
    gaps = [
        float(
            np.abs([level(np.array([place]))[0] for level in PROBLEMS[name].levels] - np.array(values)).max()
        )
        for name, place, values in VALUES
    ]
    borehole = PROBLEMS["borehole"]
    middle = borehole.in_box(np.full((1, 8), 0.5))
    found = np.array([level(middle)[0] for level in borehole.levels])
    gaps.append(float(np.abs(found - (177.17643065, 70.87076405)).max()))
    yield at_most("G1", "seven multi-fidelity functions: largest gap to known values", [max(gaps)], 1e-7)


def descent_claims() -> Iterator[Claim]:
    """G2: one client is gradient descent, and equal clients are one client."""
    rng = generator(0, "descent")
    x = rng.random((30, 1))
    y = np.sin(6 * x[:, 0]) + 0.2 * rng.normal(size=30)
    x, y = (np.asarray(part, np.float64) for part in federation_of([(x, y)]).train.client(0))
    expected = _descend(x, y, 15)
    for copies, limit, words in (
        (1, 1e-9, "one client is gradient descent"),
        (3, 1e-5, "three equal ones are one"),
    ):
        process = GaussianProcess(
            rounds=15,
            local_steps=1,
            batch_size=0,
            optimizer="sgd",
            learning_rate=0.05,
            standardize=False,
            domain=(0.0, 1.0),
        )
        found = process.fit(federation_of([(x, y)] * copies)).log_params
        yield at_most("G2", f"{words}: gap after 15 rounds", [float(np.abs(found - expected).max())], limit)


def coverage_claims() -> Iterator[Claim]:
    """Which published experiments the bounds cover."""
    for kernel, inputs in EXPERIMENTS:
        said = explain_coverage(kernel, inputs)
        covered = is_covered(kernel, inputs)
        yield Claim("G14", said, None, "for one input only", str(covered), covered == (inputs == 1))


def _descend(x: Float64s, y: Float64s, rounds: int) -> Float64s:
    kernel = Kernel("rbf")
    params = kernel.vector()
    for _ in range(rounds):
        gradient = np.asarray(_likelihood(kernel, params, x, y).gradient)
        params = params - 0.05 * np.clip(gradient / len(y), -10, 10)
    return params


def _likelihood(
    kernel: Kernel, params: Float64s, x: Float64s, y: Float64s, jitter: float = 1e-8
) -> Likelihood:
    with precision(double=True):
        u, rows, outputs, real = (jnp.asarray(part) for part in (params, x, y, np.ones(len(y))))
        return negative_log_likelihood(kernel, u, rows, outputs, real, jitter)
