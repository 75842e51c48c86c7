"""Claims on Gaussian processes that take seconds: any smoothness, natural units, unequal sizes, lines (G14 to
G18).

Yue and Kontar, Federated Gaussian Process (2024), and appendix C of the dissertation that it is from.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import cholesky
from scipy.special import gamma, kv

from unalike.analytics.gaussian_process import GaussianProcess
from unalike.analytics.gaussian_process.client_process import ClientProcess
from unalike.analytics.gaussian_process.kernels import Kernel, kernel_registry
from unalike.analytics.gaussian_process.maximum_likelihood import maximize_likelihood
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.core.random import generator
from unalike.theory.gaussian_process import gradient_error, matern_gradient_exponent, optimization_error
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, matches
from .baselines import pooled_polynomial
from .data import Rows, federation_of

SMOOTHNESS = (0.25, 0.5, 0.8, 1.5, 3.7, 20.0)
SIZES = (10, 10_000)
"""The smallest and the largest client of Example 2."""


def small_claims(quick: bool) -> Iterator[Claim]:
    """G14 to G18."""
    yield from matern_claims()
    yield from natural_claims()
    yield from theorem_claims()
    yield from line_claims()
    yield from unbalanced_claims(quick)


def matern_claims() -> Iterator[Claim]:
    """G16: tables against Bessel functions."""
    r = np.geomspace(1.1e-6, 30, 5_000)  # rows that are nearer count as equal where functions have a kink
    gaps, slopes = [], []
    for nu in SMOOTHNESS:
        part, z = kernel_registry.make(f"matern:{nu}"), np.sqrt(2 * nu) * r
        constant = 2 ** (1 - nu) / gamma(nu)
        k = part.correlation(r**2)
        gaps.append(float(np.abs(k - constant * z**nu * kv(nu, z)).max()))
        slope = 2 * nu * constant * z ** (nu - 1) * kv(nu - 1, z)
        slopes.append(float(np.abs((part.slope(r**2, k) - slope) * r**2).max()))
    words = f"Matern kernels, nu from {SMOOTHNESS[0]:g} to {SMOOTHNESS[-1]:g}"
    yield at_most("G16", f"{words}: gap of correlations to Bessel functions", gaps, 1e-9)
    yield at_most("G16", f"{words}: gap of slopes times r^2", slopes, 1e-9)


def natural_claims() -> Iterator[Claim]:
    """G15: hyper-parameters themselves are averaged, as the theorems have it."""
    rng = generator(0, "natural units")
    rows: list[Rows] = []
    for length in (0.1, 1.0):
        x = rng.random((60, 1))
        table = Kernel("rbf").covariance(np.log([1.0, 0.1, length]), x, x) + 1e-8 * np.eye(60)
        rows.append((x, cholesky(table, lower=True) @ rng.normal(size=60) + 0.1 * rng.normal(size=60)))
    alone, both = [], {}
    settings = {"rounds": 1, "local_steps": 30, "batch_size": 0, "optimizer": "sgd", "learning_rate": 0.02}
    for words in ("natural", "log"):
        process = GaussianProcess(**settings, parametrization=words, standardize=False, domain=(0.0, 1.0))  # type: ignore[arg-type]
        alone.append([process.fit(federation_of([one])).params for one in rows])
        both[words] = process.fit(federation_of(rows)).params
    ends, logs = np.array(alone[0]), np.log(np.array(alone[1]))
    gap = float(np.abs(both["natural"] - ends.mean(axis=0)).max())
    yield at_most("G15", "natural: gap of the server's average to the mean of clients'", [gap], 1e-6)
    gap = float(np.abs(both["log"] - np.exp(logs.mean(axis=0))).max())
    yield at_most("G15", "log: gap of the server's average to the geometric mean", [gap], 1e-6)


def theorem_claims() -> Iterator[Claim]:
    """G14: the gradient's part of Theorems 31 and 42, and a gradient that falls."""
    ratio = gradient_error(1.5, 2.0, 5, 100, 0.5, drawn=4) / optimization_error(1.5, 2.0, 5, 100, drawn=4)
    words = "bound on the squared gradient over that on hyper-parameters, theta_min = 0.5: 1 / (4 min^4)"
    yield matches("G14", words, ratio, 4.0, 1e-12, derivation="Theorems 31 and 42")
    signs = [matern_gradient_exponent(b) for b in (1.897, 2.0, 3.0)]
    words = "largest exponent of the batch size in the gradient's floor, b above (sqrt(21) + 3) / 4"
    yield at_most("G14", words, signs, 0, published="negative", place="Theorem 31")


def line_claims() -> Iterator[Claim]:
    """G18: 3x at one client, x at the other."""
    x, places = np.linspace(0, 1, 100)[:, None], np.linspace(0.005, 0.995, 200)[:, None]
    clients: list[Rows] = [(x, slope * x[:, 0]) for slope in (3.0, 1.0)]
    slope = float(pooled_polynomial(clients, 1)[1] * 2)
    published, place = "beta = 2", "appendix C.4"
    words = "3x and x: slope of one line for both"
    yield Claim("G18", words, published, "2", slope, abs(slope - 2) < 1e-9, place=place)
    process = GaussianProcess(rounds=60, learning_rate=0.05).fit(federation_of(clients))
    errors = [
        float(np.sqrt(np.mean((process.predict(places, i) - beta * places[:, 0]) ** 2)))
        for i, beta in enumerate((3.0, 1.0))
    ]
    words = "3x and x: FGPR's error at both clients"
    yield at_most("G18", words, errors, 0.02, note="one line for both has 0.6")


def unbalanced_claims(quick: bool) -> Iterator[Claim]:
    """G17: Example 2, clients of 10 to 10,000 rows (to 1,000 in a quick study)."""
    ratios, gains = [], []
    largest = 1_000 if quick else SIZES[1]
    seeds = range(2 if quick else 5)
    for seed in seeds:
        params, clients, truths = draw_unbalanced(seed, largest=largest)
        process = GaussianProcess(
            rounds=60,
            batch_size=64,
            learning_rate=0.05,
            schedule="inverse:20",
            start=(2.0, 0.5, 0.5),
            standardize=False,
            domain=(0.0, 1.0),
        ).fit(federation_of(clients), seed=seed, keep_history=True)
        errors = [
            (np.exp(np.asarray(process.run.history.state(r)["params"])[1]) - params[1]) ** 2 for r in (1, 60)
        ]
        ratios.append(float(errors[0] / errors[1]))
        gains.append(_small_client_gain(process, clients[0], truths[0]))
    words = f"Example 2, 20 clients of 10 to {largest:,} rows"
    yield at_least(
        "G17",
        f"{words}: squared error of the noise, round 1 over round 60 (geometric mean)",
        [float(np.exp(np.mean(np.log(ratios))))],
        10.0,
        published="convergence rate O(1/T)",
        place="section 4.5, Example 2",
    )
    yield at_most(
        "G17",
        f"{words}: error of the client with 10 rows, shared prior over alone (geometric mean)",
        [float(np.exp(np.mean(np.log(gains))))],
        1.0,
        published="helps devices with few observations",
        place="section 4.5, Example 2",
    )


def draw_unbalanced(
    seed: int, clients: int = 20, largest: int = SIZES[1]
) -> tuple[Float64s, list[Rows], list[CubicSpline]]:
    """Functions of one process seen at 10 to 10,000 places, and the functions themselves.

    They are drawn on a grid that is fine for their lengths, and are splines between its points, since an
    exact draw at 10,000 places takes the cube of these.

    Args:
        seed: of everything.
        clients: how many, the smallest first.
        largest: rows of the largest.
    """
    rng = generator(seed, "unbalanced processes")
    params = np.array([rng.uniform(0.5, 5), rng.uniform(0.05, 1), rng.uniform(0.1, 1)])
    grid, kernel = np.linspace(0, 1, 300), Kernel("rbf")
    table = kernel.covariance(np.log(params), grid[:, None], grid[:, None])
    root = cholesky(table + 1e-9 * params[0] ** 2 * np.eye(len(grid)), lower=True)
    rows, functions = [], []
    for size in np.geomspace(SIZES[0], largest, clients).round().astype(int):
        function = CubicSpline(grid, root @ rng.normal(size=len(grid)))
        x = rng.random((size, 1))
        rows.append((x, function(x[:, 0]) + params[1] * rng.normal(size=size)))
        functions.append(function)
    return params, rows, functions


def _small_client_gain(process: GaussianProcess, rows: Rows, truth: CubicSpline) -> float:
    """The error of a client's function with the shared prior, over that with a prior of its own."""
    places = np.linspace(0, 1, 300)
    shared: ClientProcess = process.client(0)
    own = Posterior(Kernel("rbf"), maximize_likelihood(Kernel("rbf"), [rows]).params, *rows)
    errors = [
        float(np.sqrt(np.mean((mean - truth(places)) ** 2)))
        for mean in (shared.predict(places[:, None]), own.predict(places[:, None]).mean)
    ]
    return errors[0] / errors[1]
