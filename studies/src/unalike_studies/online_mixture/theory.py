"""Claims on FEM-OMD that need no training: identities, limits and the regret bound.

Marfoq's doctoral thesis (2023), section 4.4 and appendix H. Federated sums are held against expectation and
maximization in one place, mirror descent against random losses, distances against quadrature. The printed
regret bound is too small; it is reported as an erratum, and the corrected one is tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from unalike.algorithms import GaussianFemOMD
from unalike.algorithms.shared.gaussian_mixture import draw_mixture_rows, gaussian_task
from unalike.algorithms.shared.mirror_descent import mirror_rate, mirror_step, mixture_gradient
from unalike.core.random import generator
from unalike.theory.mixtures.em_conditions import gradient_error_bound
from unalike.typing import Float64s, Memory, State
from unalike_studies.theory.mixtures.em_oracle import Custom, MixtureProblem
from unalike_studies.theory.mixtures.online_regret import (
    best_fixed_weights,
    best_rate,
    gaussian_divergence,
    gaussian_variation,
    linear_regret,
    mixture_losses,
    printed_bound,
    published_rate,
    regret_bound,
    variation_bound,
)

from ..study import Claim, at_least, at_most, matches
from .data import World, near_start, preset, run_loop, time_step

EXACT, DOUBLE = 1e-10, 1e-12
CLIENTS, ROWS, COMPONENTS, DIMENSION, EXCHANGES = 4, 20, 3, 2, 3
APART = 20.0


def theory_claims(quick: bool) -> Iterator[Claim]:
    """M1 to M5, and that the loop plays the same game."""
    seeds = range(2 if quick else 5)
    yield from pooling_claims(seeds)
    yield from gradient_claims(seeds)
    yield from separation_claims(seeds)
    yield from regret_claims(quick)
    yield from distance_claims(seeds)
    yield from gradient_error_claims(quick)
    yield from loop_claims()


# M1: sums of statistics are the pooled M-step -------------------------------------------------------------


def pooling_claims(seeds: range) -> Iterator[Claim]:
    """Clients' sums, the pooled rows and the average of clients' means are the same."""
    means, weights, literal = [], [], []
    for seed in seeds:
        rows, start = _draw(seed)
        found, shares = _exchange(rows, start)
        oracle = _pooled(rows).solve(start, steps=EXCHANGES)
        means.append(float(np.abs(found - oracle.theta).max()))
        weights.append(float(np.abs(shares - oracle.weights).max()))
        literal.append(float(np.abs(found - _average(rows, start)).max()))
    yield at_most("M1", "means from clients' sums against EM that sees all rows", means, EXACT)
    yield at_most("M1", "mixture weights of clients against the same", weights, EXACT)
    yield at_most("M1", "clients' sums against the average of clients' means", literal, EXACT)


def _draw(seed: int) -> tuple[Float64s, Float64s]:
    rng = generator(seed, "online pooling")
    truth = 3 * rng.normal(size=(COMPONENTS, DIMENSION))
    which = rng.integers(COMPONENTS, size=(CLIENTS, ROWS))
    return truth[which] + rng.normal(size=(CLIENTS, ROWS, DIMENSION)), truth + rng.normal(size=truth.shape)


def _exchange(rows: Float64s, start: Float64s) -> tuple[Float64s, Float64s]:
    """The method's own exchanges of one step, in double precision."""
    algorithm = GaussianFemOMD(
        components=COMPONENTS, em_steps=EXCHANGES, split=False, outer="last", gradient="data"
    )
    with jax.enable_x64(True):
        task, state = gaussian_task(DIMENSION), algorithm.start([jnp.asarray(mean) for mean in start])
        counters = {"counts": jnp.ones(COMPONENTS), "phase": jnp.asarray(0), "step": jnp.asarray(1)}
        state = State({**state, **counters})
        equal = jnp.full((len(rows), COMPONENTS), 1 / COMPONENTS)
        memories = Memory({"weights": equal, "inner": equal})
        state, memories = time_step(task, algorithm, state, memories, jnp.asarray(rows), jax.random.key(0))
        return np.stack([np.asarray(mean) for mean in state["params"]]), np.asarray(memories["inner"])


def _pooled(rows: Float64s) -> MixtureProblem:
    def losses(theta: Float64s, x: Float64s, y: Float64s) -> Float64s:
        return 0.5 * ((x - theta) ** 2).sum(axis=1)

    def fit(theta: Float64s, x: Float64s, y: Float64s, weights: Float64s) -> Float64s:
        return weights @ x / weights.sum()

    x, owners = rows.reshape(-1, rows.shape[-1]), np.repeat(np.arange(len(rows)), rows.shape[1])
    return MixtureProblem(x, np.zeros(len(x)), owners, Custom(losses, fit))


def _average(rows: Float64s, start: Float64s) -> Float64s:
    """The literal form: every client's own means, averaged with its mixture weights."""
    means, weights = start, np.full((len(rows), len(start)), 1 / len(start))
    for _ in range(EXCHANGES):
        joint = np.log(weights)[:, None] - 0.5 * ((rows[:, :, None] - means) ** 2).sum(axis=-1)
        r = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
        weights = r.mean(axis=1)
        own = np.einsum("cij,cid->cjd", r, rows) / r.sum(axis=1)[..., None]
        means = (weights[..., None] * own).sum(axis=0) / weights.sum(axis=0)[:, None]
    return means


# M2 and M3: the gradient of mixture weights ---------------------------------------------------------------


def gradient_claims(seeds: range) -> Iterator[Claim]:
    """Its weighted sum, the simplex, and constants that change nothing."""
    sums, outside, moved = [], [], []
    for seed in seeds:
        rng = generator(seed, "online gradients")
        with jax.enable_x64(True):
            weights = jnp.asarray(rng.dirichlet(np.ones(5)))
            for t in range(1, 101):
                losses = jnp.asarray(rng.gamma(2.0, 3.0, size=(8, 5)))
                gradient = mixture_gradient(losses, weights, jnp.ones(8))
                sums.append(abs(float(weights @ gradient) + 1))
                rate = mirror_rate(5, t)
                after, shifted = (mirror_step(weights, gradient + c, rate, 1e-3) for c in (0.0, 7.0))
                moved.append(float(jnp.abs(after - shifted).max()))
                weights = after
                outside.append(max(abs(float(weights.sum()) - 1), -float(weights.min())))
    yield at_most("M2", "error of sum_j pi_j g_j = -1, over steps", sums, DOUBLE)
    yield at_most("M2", "distance of played weights from the simplex", outside, DOUBLE)
    yield at_most("M2", "change by a constant added to all g_j", moved, DOUBLE)


def separation_claims(seeds: range) -> Iterator[Claim]:
    """Far apart, g_j counts rows; and weights find fixed true ones."""
    counted, found = [], []
    for seed in seeds:
        rng = generator(seed, "online separation")
        means = jnp.asarray(APART * np.eye(4), jnp.float32)
        truth, weights = (jnp.asarray(0.1 + 0.6 * rng.dirichlet(np.ones(4)), jnp.float32) for _ in range(2))
        rows = draw_mixture_rows(jax.random.key(seed), means, truth, 200)
        squares = 0.5 * ((np.asarray(rows, np.float64)[:, None] - np.asarray(means)) ** 2).sum(axis=-1)
        shares = np.eye(4)[squares.argmin(axis=1)].mean(axis=0)
        with jax.enable_x64(True):
            own = jnp.asarray(np.asarray(weights, np.float64))
            gradient = np.asarray(mixture_gradient(jnp.asarray(squares), own, jnp.ones(200)))
        counted.append(float(np.abs(gradient + shares / np.asarray(weights)).max()))
        found.append(float(jnp.abs(_follow(means, truth, jax.random.key(seed)) - truth).max()))
    yield at_most("M3", "g_j against -(share of rows of component j) / pi_j, means 28 apart", counted, 1e-6)
    yield at_most("M3", "distance of weights from fixed true ones, 4000 steps of 30 rows", found, 0.05)


def _follow(means: jax.Array, truth: jax.Array, key: jax.Array) -> jax.Array:
    def step(t: jax.Array, weights: jax.Array) -> jax.Array:
        rows = draw_mixture_rows(jax.random.fold_in(key, t), means, truth, 30)
        squares = 0.5 * ((rows[:, None] - means) ** 2).sum(axis=-1)
        gradient = mixture_gradient(squares, weights, jnp.ones(30))
        return mirror_step(weights, gradient, mirror_rate(4, t + 1), 1e-3)

    return lax.fori_loop(0, 4000, step, jnp.full(4, 0.25))


# M4: the regret bound -------------------------------------------------------------------------------------


def regret_claims(quick: bool) -> Iterator[Claim]:
    """Random losses of +1 and -1, and ten components."""
    m, runs = 10, 100 if quick else 300
    corner, middle = 0.0, float(np.sum(np.full(m, 1 / m) * np.log(np.full(m, 1 / m))))
    claim, ratio = "D_R^2 = sup R - inf R over log m", (corner - middle) / math.log(m)
    yield matches("M4", claim, ratio, 1, DOUBLE, place="Lemma H.4")
    for steps in (1000,) if quick else (1000, 4000):
        rng = generator(steps, "online losses")
        losses = [rng.choice([-1.0, 1.0], (steps, m)) for _ in range(runs)]
        first, second = published_rate(m, 1, steps), best_rate(m, 1, steps)
        found = np.array([linear_regret(one, first) for one in losses])
        root, words = math.sqrt(steps), f"T = {steps:,}"
        limit = regret_bound(m, 1, steps, first)
        yield at_most("M4", f"largest regret over the corrected bound, {words}", [found.max() / limit], 1)
        other = max(linear_regret(one, second) for one in losses) / regret_bound(m, 1, steps, second)
        yield at_most("M4", f"the same with the rate that makes the bound smallest, {words}", [other], 1)
        over = float((found > printed_bound(m, 1, steps)).mean())
        note = f"erratum: D G sqrt(T) as printed; largest regret {found.max() / root:.2f} sqrt(T)"
        yield at_least(
            "M4",
            f"share of runs above the printed bound, {words}",
            [over],
            0.3,
            published="none",
            place="Theorem 4.4.3",
            note=note,
        )
    yield at_most("M4", "gap of the best fixed weights to a fine grid of weights", [_grid_gap()], 1e-4)


def _grid_gap() -> float:
    """By how much some weights on a grid do better than the best fixed ones in hindsight."""
    logs = generator(0, "online hindsight").normal(size=(60, 2)) * 2
    best = mixture_losses(logs, best_fixed_weights(logs)).mean()
    grid = [mixture_losses(logs, np.array([a, 1 - a])).mean() for a in np.linspace(0.001, 0.999, 999)]
    return float(best - min(grid))


# M5: distances --------------------------------------------------------------------------------------------


def distance_claims(seeds: range) -> Iterator[Claim]:
    """KL and total variation of Gaussians and of their mixtures, by quadrature on a line."""
    divergences, variations, halves, mixtures = [], [], [], []
    for seed in seeds:
        rng = generator(seed, "online distances")
        a, b = 2 * rng.normal(size=(2, 1))
        divergence = quad(
            lambda z, a=a[0], b=b[0]: norm.pdf(z, a) * (norm.logpdf(z, a) - norm.logpdf(z, b)), -20, 20
        )
        variation = quad(
            lambda z, a=a[0], b=b[0]: abs(norm.pdf(z, a) - norm.pdf(z, b)) / 2, -20, 20, limit=200
        )
        divergences.append(abs(divergence[0] - gaussian_divergence(a, b)))
        variations.append(abs(variation[0] - gaussian_variation(a, b)))
        halves.append(gaussian_variation(a, b) - abs(a[0] - b[0]) / 2)
        means, others = rng.normal(size=(2, 3, 1))
        p, q = rng.dirichlet(np.ones(3), 2)
        z = np.linspace(-12, 12, 24_001)
        gap = np.abs(norm.pdf(z[:, None], means[:, 0]) @ p - norm.pdf(z[:, None], others[:, 0]) @ q)
        mixtures.append(float(gap.sum() * (z[1] - z[0]) / 2 - variation_bound(means, p, others, q)))
    yield at_most("M5", "KL(N(a, I) || N(b, I)) - |a - b|^2 / 2, by quadrature", divergences, 1e-6)
    yield at_most("M5", "total variation against 2 Phi(|a - b| / 2) - 1", variations, 1e-6)
    yield at_most("M5", "total variation less |a - b| / 2", halves, 0)
    yield at_most("M5", "total variation of mixtures less its bound", mixtures, 0)


# M14: the error of the gradient ----------------------------------------------------------------------------


def gradient_error_claims(quick: bool) -> Iterator[Claim]:
    """(4.43), by quadrature on a line, with components that are far apart and with some that are not."""
    for distance, words in ((30.0, "30 apart"), (1.0, "drawn 1 apart")):
        found = [_gradient_error(seed, distance) for seed in range(50 if quick else 300)]
        worst = [error / bound for error, bound in found]
        yield at_most(
            "M14",
            f"largest error of the mixture weights' gradient over its bound, means {words}",
            worst,
            1,
            published="at most the bound",
            place="Theorem 4.4.4, equation (4.43)",
        )


def _gradient_error(seed: int, distance: float) -> tuple[float, float]:
    """pi_j |grad_j - approx_j| at its largest, and its bound, for random means, errors and weights."""
    rng = generator(seed, "online gradient error")
    m = int(rng.integers(2, 5))
    truth = distance * (np.arange(m) if distance > 10 else rng.normal(size=m))
    means = truth + rng.choice([0.01, 0.1, 0.5]) * rng.normal(size=m)
    weights, other, played = rng.dirichlet(np.ones(m), 3)
    estimate = rng.choice([0.0, 0.1, 1.0]) * (other - weights) + weights
    z = np.linspace(truth.min() - 12, truth.max() + 12, 24_001)
    exact, approximate = (
        _expected_gradient(z, norm.pdf(z[:, None], at), of, played)
        for at, of in ((truth, weights), (means, estimate))
    )
    error = float((played * np.abs(exact - approximate)).max())
    return error, gradient_error_bound(means[:, None], truth[:, None], estimate, weights)


def _expected_gradient(z: Float64s, densities: Float64s, weights: Float64s, played: Float64s) -> Float64s:
    """-E[P_j(Z) / sum_l played_l P_l(Z)] with Z of the mixture with `weights`."""
    ratios = densities / np.maximum(densities @ played, 1e-300)[:, None]
    return -(densities @ weights * (z[1] - z[0])) @ ratios


# The game and the loop ------------------------------------------------------------------------------------


def loop_claims() -> Iterator[Claim]:
    """The compiled game of this study and :func:`train` give the same."""
    world = World(components=3, dimension=4, clients=5, rows=6, steps=8)
    algorithm = preset(world, em_steps=2, gradient="data")
    rng, means = generator(0, "online loop"), world.means(0)
    which = rng.integers(3, size=(world.steps, world.clients, world.rows))
    rows = means[which] + rng.normal(size=(*which.shape, world.dimension))
    start = near_start(means, 0)
    run = run_loop(rows, algorithm, start)
    state = algorithm.start([jnp.asarray(mean, jnp.float32) for mean in start])
    equal = jnp.full((world.clients, 3), 1 / 3)
    memories = Memory({"weights": equal, "inner": equal})
    for lot in rows:
        state, memories = time_step(
            gaussian_task(4), algorithm, state, memories, jnp.asarray(lot, jnp.float32), jax.random.key(0)
        )
    kept, _ = run.memories.gather(np.arange(world.clients))
    gaps = [
        float(np.abs(np.stack(run.state["params"]) - np.stack(state["params"])).max()),
        float(np.abs(np.asarray(kept["weights"]) - np.asarray(memories["weights"])).max()),
    ]
    yield at_most("loop", "means and weights of the game against the training loop, 8 steps", gaps, 1e-4)
