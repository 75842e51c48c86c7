"""Violation search: does a client ever move the model further than its sensitivity says?

Random problems, drawn so as to be difficult (few clients, long or many local steps, curvatures that differ by
orders of magnitude, clients that pull in different directions), are trained with and without each client; the
largest ratio of the true distance to the bound must not exceed one. Every combination of settings whose
certificate is called proven, or conditional on what is true here, is searched, with the step size, the
discount and the ledger that a certificate would use; and so are combinations for which the bound is known to
fail, which shows that the search finds violations where there are some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from unalike.trust.unlearning.sensitivity import Ledger, Mode, contraction, longest_step
from unalike.typing import Float64s, Int64s

from ..study import Claim, at_least, at_most

Losses = Literal["quadratic", "softmax"]
ROUNDS = 12
MANY = 400
"""Random problems of a combination, unless the study is to be quick."""


@dataclass(frozen=True)
class Combination:
    """Settings of a training, as far as the bound depends on them."""

    losses: Losses
    proximal: bool = False
    """FedProx, with a weight that is drawn."""
    ridge: bool = False
    """An L2 term, with a weight that is drawn."""
    discounted: bool = False
    """The strong convexity is declared: the true one of quadratics, none but the L2 term's of softmax."""
    batches: bool = False
    """Mini-batches, the same with and without the client."""
    sampled: bool = False
    """Some clients a round, the same with and without the client."""
    grouped: bool = False
    """Two clients are taken out together, and the bound is that of the rule group."""
    server_rate: float = 1.0
    clip: float | None = None
    """Largest norm of a gradient; no certificate is proven with it."""
    norm_bound: float | None = None
    """Largest norm of a change; no certificate is proven with it."""
    step: Callable[[float, float, float], float] = longest_step
    """The longest step of smoothness, convexity and proximal weight."""
    fading: Callable[[float, int, float, float], float] = contraction
    """What is left of a distance after a round, of rate, steps, convexity and proximal weight."""

    @property
    def name(self) -> str:
        """What it is called in a table."""
        words = [self.losses, "fedprox" if self.proximal else "fedavg"]
        words += ["l2"] if self.ridge else []
        words += ["discount"] if self.discounted else []
        words += ["batches"] if self.batches else []
        words += ["sampled"] if self.sampled else []
        words += ["group"] if self.grouped else []
        words += [f"server {self.server_rate:g}"] if self.server_rate != 1 else []
        words += ["clip"] if self.clip else []
        words += ["norm-bound"] if self.norm_bound else []
        return ", ".join(words)

    @property
    def label(self) -> str:
        """What a certificate is called with these settings, their step sizes being short enough."""
        if self.clip or self.norm_bound:
            return "heuristic"
        return "conditional" if self.batches or self.sampled else "proven"


def certified_combinations() -> list[Combination]:
    """All combinations that are proven, or conditional on what is true in the search."""
    found = []
    for losses in ("quadratic", "softmax"):
        for proximal in (False, True):
            plain = Combination(losses, proximal)
            found += [plain, replace(plain, ridge=True), replace(plain, ridge=True, discounted=True)]
            found += [replace(plain, discounted=True)] if losses == "quadratic" else []
            found += [replace(plain, batches=True), replace(plain, sampled=True)]
            found += [replace(plain, ridge=True, discounted=True, batches=True, sampled=True)]
            found += [replace(plain, server_rate=0.5), replace(plain, grouped=True)]
    return found


def refuted_combinations() -> dict[str, Combination]:
    """Conditions under which the bound fails, by what is wrong with them."""
    quadratic, softmax = Combination("quadratic"), Combination("softmax")
    forgets_mu = lambda smooth, convex, mu: 2 / smooth  # noqa: E731
    forgets_c = lambda smooth, convex, mu: 1.999 / smooth  # noqa: E731
    once_mu = lambda smooth, convex, mu: 2 / (smooth + mu)  # noqa: E731
    no_pull = lambda rate, steps, convex, mu: (1 - rate * convex) ** steps  # noqa: E731
    half = lambda smooth, convex, mu: 1 / smooth  # noqa: E731
    return {
        "FedProx with steps of 2 / L, quadratic": replace(quadratic, proximal=True, step=forgets_mu),
        "FedProx with steps of 2 / L, softmax": replace(softmax, proximal=True, step=forgets_mu),
        "FedProx with steps of 2 / (L + mu), batches": replace(
            quadratic, proximal=True, batches=True, step=once_mu
        ),
        "discount with steps of 2 / L": replace(quadratic, discounted=True, step=forgets_c),
        "discount of FedProx by (1 - rate c)^K": replace(
            quadratic, proximal=True, discounted=True, fading=no_pull
        ),
        "clipped gradients": replace(quadratic, clip=0.3, step=lambda s, c, m: 1.5 / s),
        "clipped changes (norm-bound), quadratic": replace(quadratic, norm_bound=0.5, step=half),
        "clipped changes (norm-bound), softmax": replace(softmax, norm_bound=0.05, step=half),
    }


class Problem(NamedTuple):
    """What is trained: every client's gradient (of a batch), and what is known of it."""

    gradient: Callable[[int, int, Float64s], Float64s]
    """Of client, batch and model."""
    smoothness: float
    convexity: float
    start: Float64s
    weights: Float64s


def draw_problem(combination: Combination, rng: np.random.Generator) -> Problem:
    """A random problem; every client has several batches where there are batches."""
    clients, size = int(rng.integers(3 if combination.grouped else 2, 5)), int(rng.integers(1, 5))
    batches = int(rng.integers(2, 4)) if combination.batches else 1
    weights = rng.dirichlet(np.ones(clients)) if rng.random() < 0.5 else np.full(clients, 1 / clients)
    make = _quadratics if combination.losses == "quadratic" else _softmax
    ridge = 10 ** rng.uniform(-2, 0.5) if combination.ridge else 0.0
    return make(clients, batches, size, ridge, weights, rng)


def _quadratics(
    clients: int, batches: int, size: int, ridge: float, weights: Float64s, rng: np.random.Generator
) -> Problem:
    """x' H x / 2 - s' x, with curvatures between 0 and 1 in random directions, sometimes the same at all
    clients, and slopes that need not vanish anywhere."""
    turns = np.linalg.qr(rng.normal(size=(clients, batches, size, size)))[0]
    spectra = rng.random((clients, batches, size)) ** rng.choice([0.2, 1.0, 6.0])
    spectra = np.where(rng.random(spectra.shape) < 0.3, rng.integers(0, 2, spectra.shape), spectra)
    hessians = np.einsum("cbij,cbj,cbkj->cbik", turns, spectra, turns)
    targets = rng.normal(size=(clients, 1, size)) * 10 ** rng.uniform(-1, 1, (clients, 1, 1))
    if rng.random() < 0.3:
        hessians, spectra = np.broadcast_to(hessians[:1], hessians.shape), spectra[:1]
    slopes = np.einsum("cbij,cbj->cbi", hessians, np.broadcast_to(targets, (clients, batches, size)))
    if rng.random() < 0.3:
        slopes = np.broadcast_to(targets, (clients, batches, size))

    def gradient(c: int, b: int, x: Float64s) -> Float64s:
        slope: Float64s = hessians[c, b] @ x - slopes[c, b] + ridge * x
        return slope

    most, least = max(float(spectra.max()), 1e-3), float(spectra.min())
    return Problem(gradient, most + ridge, least + ridge, rng.normal(size=size), weights)


def _softmax(
    clients: int, batches: int, size: int, ridge: float, weights: Float64s, rng: np.random.Generator
) -> Problem:
    """Cross-entropy of a linear model; smooth with half the largest mean square of rows in any direction."""
    rows, classes = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    x = rng.normal(size=(clients, batches, rows, size)) * 10 ** rng.uniform(-0.5, 0.5, (clients, 1, 1, 1))
    hot = np.eye(classes)[rng.integers(0, classes, (clients, batches, rows))]
    squares = np.linalg.norm(x, 2, axis=(2, 3)) ** 2 / rows

    def gradient(c: int, b: int, flat: Float64s) -> Float64s:
        scores = x[c, b] @ flat.reshape(classes, size).T
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope: Float64s = ((shares - hot[c, b]).T @ x[c, b] / rows).ravel() + ridge * flat
        return slope

    start = rng.choice([0.0, 1.0]) * rng.normal(size=classes * size)
    return Problem(gradient, 0.5 * float(squares.max()) + ridge, ridge, start, weights)


class Training(NamedTuple):
    """The models of all rounds, and what the ledger records of them."""

    models: Float64s
    deviations: Float64s
    weights: Float64s


@dataclass(frozen=True)
class Schedule:
    """What is the same with and without a client."""

    rate: float
    proximal: float
    steps: int
    batches: Int64s
    """Of every round and step."""
    drawn: Float64s
    """1 for clients that are drawn, of every round and client."""


def train_clients(
    problem: Problem, combination: Combination, schedule: Schedule, clients: Sequence[int]
) -> Training:
    """Federated averaging, or FedProx, of some clients."""
    total = len(problem.weights)
    models, deviations, weights = [problem.start], np.zeros((ROUNDS, total)), np.zeros((ROUNDS, total))
    for n in range(ROUNDS):
        here = [c for c in clients if schedule.drawn[n, c]]
        if not here:
            models.append(models[-1])
            continue
        local = np.array([_work(problem, combination, schedule, n, c, models[-1]) for c in here])
        shares = problem.weights[here] / problem.weights[here].sum()
        mean = shares @ local
        weights[n, here], deviations[n, here] = shares, np.linalg.norm(local - mean, axis=1)
        models.append(models[-1] + combination.server_rate * (mean - models[-1]))
    return Training(np.array(models), deviations, weights)


def _work(
    problem: Problem, combination: Combination, schedule: Schedule, n: int, c: int, start: Float64s
) -> Float64s:
    """The model that a client sends."""
    x = start
    for k in range(schedule.steps):
        slope = problem.gradient(c, int(schedule.batches[n, k]), x) + schedule.proximal * (x - start)
        x = x - schedule.rate * _shorten(slope, combination.clip)
    return start + _shorten(x - start, combination.norm_bound)


def _shorten(vector: Float64s, norm: float | None) -> Float64s:
    length = float(np.linalg.norm(vector))
    return vector if norm is None or length <= norm else vector * (norm / length)


def largest_ratio(combination: Combination, seed: int) -> float:
    """The true distance over its bound on one random problem: the largest over rounds and clients."""
    rng = np.random.default_rng(seed)
    problem = draw_problem(combination, rng)
    pull = rng.choice([0.9, 1.0, 10 ** rng.uniform(-2, 0.3)])  # as strong as the curvature is the worst
    mu = problem.smoothness * float(pull) if combination.proximal else 0.0
    convexity = problem.convexity if combination.discounted else 0.0
    steps = int(rng.choice([1, 2, 3, 6, 12]))
    share = 1.0 if rng.random() < 0.7 else rng.random()
    rate = share * combination.step(problem.smoothness, convexity, mu)
    if mu or convexity:
        rate = min(rate, 0.999 / (mu + convexity))  # beyond that the run is refused
    q = combination.fading(rate, steps, convexity, mu) if combination.discounted else 1.0
    clients = len(problem.weights)
    drawn = np.ones((ROUNDS, clients))
    if combination.sampled:
        drawn = (rng.random((ROUNDS, clients)) < 0.7).astype(np.float64)
    batches = rng.integers(0, 2, (ROUNDS, steps)) if combination.batches else np.zeros((ROUNDS, steps))
    schedule = Schedule(rate, mu, steps, batches.astype(np.int64), drawn)
    everyone = train_clients(problem, combination, schedule, range(clients))
    mode: Mode = "realized" if combination.sampled else "full"
    ledger = Ledger(everyone.deviations, everyone.weights, problem.weights, q, combination.server_rate)
    groups = [[c, (c + 1) % clients] if combination.grouped else [c] for c in range(clients)]
    ratios = []
    for gone in groups:
        rest = train_clients(problem, combination, schedule, [i for i in range(clients) if i not in gone])
        bounds = ledger.group_sensitivity(mode, np.array(gone))[:, 0]
        ratios.append(_ratio(everyone.models, rest.models, bounds))
    return max(ratios)


def _ratio(models: Float64s, others: Float64s, bounds: Float64s) -> float:
    """The largest distance over its bound after the first round, in which they are equal; distances that
    rounding explains are none."""
    distances = np.linalg.norm(models - others, axis=1)
    known = np.isfinite(distances) & np.isfinite(bounds) & (np.arange(len(bounds)) > 1)
    scale = np.maximum(1.0, np.abs(models).max(axis=1, initial=0.0)[known])
    return float(
        ((distances[known] - 1e-12 * scale) / np.maximum(bounds[known], 1e-9 * scale)).max(initial=0.0)
    )


def search(combination: Combination, problems: int, first: int = 0) -> float:
    """The largest ratio over random problems."""
    return max(largest_ratio(combination, first + seed) for seed in range(problems))


def search_claims(quick: bool) -> Iterator[Claim]:
    """UL-9: no violation where a certificate says that there is none; UL-10: the search finds those that
    wrong conditions allow."""
    problems = 30 if quick else MANY
    for combination in certified_combinations():
        claim = f"largest distance over sensitivity, {combination.label}: {combination.name}"
        note = f"{problems} random problems, steps as long as allowed"
        yield at_most("UL-9", claim, [search(combination, problems)], 1 + 1e-6, note=note)
    for name, combination in refuted_combinations().items():
        claim = f"the same under a condition that is wrong: {name}"
        yield at_least("UL-10", claim, [search(combination, MANY)], 1 + 1e-4)
