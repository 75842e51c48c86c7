"""Claims on FedEM that need no training: identities, limits and convergence, mostly exact.

Marfoq, Neglia, Bellet, Kameni and Vidal, "Federated Multi-Task Learning under a Mixture of Distributions"
(2021). The oracle is expectation and maximization in one place and in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit
from scipy.stats import matrix_normal

from unalike.algorithms import FedAvg, FedEM, LocalWork, Optimizer
from unalike.algorithms.d_fedem import DFedEM
from unalike.algorithms.shared.solvers import GradientDescent, make_solver
from unalike.algorithms.shared.surrogates import Averaging, MixtureBound, Quadratic, Surrogate
from unalike.algorithms.surrogate_optimization import SurrogateOptimizer
from unalike.core.pytrees import largest_difference
from unalike.data import Federation
from unalike.models import Task, linear
from unalike.theory.mixtures.surrogate_check import check_surrogate, whole_client
from unalike.topology import consensus_distance, contraction, graph_of, mixing_of
from unalike.topology.gossip import Gossip
from unalike.training.run import Run
from unalike.typing import Float64s, Int64s, PyTree
from unalike_studies.theory.mixtures.em_oracle import Logistic, MixtureProblem, divergence
from unalike_studies.theory.mixtures.inexactness import (
    audit_solver,
    condition_number,
    contraction_bound,
    dissimilarity,
)

from ..study import Claim, at_least, at_most, matches
from .data import (
    CLIENTS,
    DIMENSION,
    draw_problem,
    fedem,
    learn,
    logistic_task,
    scores,
    shares_of,
    slope_of,
    small,
)

EXACT, SINGLE = 1e-8, 1e-5
"""Tolerances of double precision, and of single precision after some steps."""


def theory_claims(quick: bool) -> Iterator[Claim]:
    """R13 to R16, the identities, the methods that FedEM contains, and what its proofs use."""
    seeds = range(2 if quick else 5)
    yield from identity_claims(seeds)
    yield from sign_claims(seeds)
    yield from equality_claims()
    yield from cost_claims(quick)
    yield from containment_claims()
    yield from surrogate_claims(quick)
    yield from newcomer_claims(seeds)
    yield from solver_claims(seeds[:1] if quick else seeds)
    yield from mixing_claims(quick)
    yield from gossip_claims()
    yield from convergence_claims(quick)


# Identities -----------------------------------------------------------------------------------------------


def identity_claims(seeds: range) -> Iterator[Claim]:
    """What the bound is above the objective, what a step gains, and that exact steps never lose."""
    gaps, gains, reversed_gains, rises = [], [], [], []
    for problem, theta, weights, q in map(draw_problem, seeds):
        above = problem.bounds(theta, weights, q) - problem.objectives(theta, weights)
        gaps.append(np.abs(above - problem.evidence_gaps(theta, weights, q)).max())
        new = problem.best_weights(q)
        gain = problem.bounds(theta, weights, q) - problem.bounds(theta, new, q)
        gains.append(np.abs(gain - divergence(new, weights)).max())
        reversed_gains.append(np.abs(gain - divergence(weights, new)).max())
        rises.append(max(0.0, float(np.diff(problem.solve(0.3 * theta, steps=30).objective).max())))
    yield at_most("R14", "g - f is the mean divergence of q from the posterior", gaps, EXACT)
    yield at_most("R14", "new mixture weights lower g by KL(new || old)", gains, EXACT)
    yield at_least("R14", "error of KL(old || new) instead", reversed_gains, 1e-3, note="order of arguments")
    yield at_most("R14", "largest rise of f in 30 steps with exact M-steps", rises, EXACT)


def sign_claims(seeds: range) -> Iterator[Claim]:
    """The gradient of the gap: the printed sign is the wrong one."""
    ours, printed = [], []
    for problem, theta, weights, q in map(draw_problem, seeds):
        direction = np.random.default_rng(9).normal(size=theta.shape)
        step = 1e-5 * direction
        measured = (_gap(problem, theta + step, weights, q) - _gap(problem, theta - step, weights, q)) / 2e-5
        errors = expit(problem.x @ theta.T) - problem.y[:, None]
        slope = ((q - problem.posterior(theta, weights)) * errors).T @ problem.x / len(problem.y)
        ours.append(abs(measured - (slope * direction).sum()))
        printed.append(abs(measured + (slope * direction).sum()))
    yield at_most("R14", "gradient of the gap, (q - posterior) grad loss, against differences", ours, 1e-7)
    yield at_least("R14", "error of the opposite sign", printed, 1e-3, note="erratum: as printed")


def _gap(problem: MixtureProblem, theta: Float64s, weights: Float64s, q: Float64s) -> float:
    shares = problem.sizes / problem.sizes.sum()
    return float(shares @ problem.evidence_gaps(theta, weights, q))


def equality_claims() -> Iterator[Claim]:
    """One component is FedAvg, and one full step of FedEM is a gradient step on f."""
    federation = small(0)
    task = logistic_task(federation)
    work, optimizer = LocalWork(epochs=2, batch_size=32), Optimizer("sgd", 0.3)
    one = learn(federation, FedEM(components=1, work=work, optimizer=optimizer), 5, task=task)
    plain = learn(federation, FedAvg(work=work, optimizer=optimizer), 5, task=task)
    gap = largest_difference(one.state["params"][0], plain.state["params"])
    yield at_most("R13", "FedEM with one component against FedAvg, any bit", [gap], 0.0)
    start = fedem().init(task, jax.random.key(3))
    stepped = learn(federation, fedem(rate=0.5), 1, task=task, initial=start)
    problem = MixtureProblem.of(federation, Logistic())
    before, equal = scores(start["params"]), np.full((CLIENTS, 3), 1 / 3)
    # Both rows of weights move, so their difference takes twice the step.
    wanted = before - 2 * 0.5 * slope_of(problem, before, equal)
    off = np.abs(scores(stepped.state["params"]) - wanted).max()
    yield at_most("R14", "one full-batch step of FedEM against a gradient step on f", [off], SINGLE)
    shares = np.abs(shares_of(stepped) - problem.best_weights(problem.posterior(before, equal))).max()
    yield at_most("R14", "its mixture weights against the oracle's", [shares], SINGLE)


def cost_claims(quick: bool) -> Iterator[Claim]:
    """Bytes grow with the number of components, and with nothing else."""
    federation = small(0)
    sent = {}
    for m in (3,) if quick else (1, 2, 3):
        metrics = learn(federation, fedem(components=m), 2).metrics()
        sent[m] = np.nansum(metrics["bytes_down"]) + np.nansum(metrics["bytes_up"])
    metrics = learn(federation, FedAvg(work=LocalWork(steps=1)), 2).metrics()
    plain = np.nansum(metrics["bytes_down"]) + np.nansum(metrics["bytes_up"])
    for m, count in sent.items():
        claim, place = f"bytes over FedAvg's, M = {m}", "section 3.5.6.3: roughly M times"
        yield matches("R15", claim, count / plain, m, 0, place=place)


# Methods that are special cases ---------------------------------------------------------------------------


def containment_claims() -> Iterator[Claim]:
    """Clustering, interpolation, shared structure and task covariances are mixtures."""
    yield at_most("S9", "hard FedEM against averaging within clusters", [_clustered_gap()], SINGLE)
    rng = np.random.default_rng(0)
    local, shared = rng.normal(size=(4, 6, 3)), rng.normal(size=(6, 3))
    task = Task.regression(linear(input_shape=(2,), outputs=3))
    gaps = []
    for t, a in enumerate((0.0, 0.3, 0.8, 1.0)):
        weights = np.append(a * np.eye(4)[t], 1 - a)
        mixed = task.mixture(jnp.asarray([*local, shared]), jnp.asarray(weights))
        gaps.append(float(np.abs(mixed - (a * local[t] + (1 - a) * shared)).max()))
    yield at_most("S9", "T + 1 components against interpolation of local and global", gaps, SINGLE)
    components, shares = rng.normal(size=(3, 8)), rng.dirichlet(np.ones(3), 12)
    basis = np.linalg.qr(components.T)[0].T
    models = shares @ components
    off = np.abs(models - models @ basis.T @ basis).max()
    yield at_most("S9", "linear client models Pi Theta in the span of Q (shared structure)", [off], 1e-12)
    yield at_most("S9", "matrix-normal prior against lambda tr(W Omega W')", [_prior_gap(rng)], 1e-9)


def _clustered_gap() -> float:
    """One hard round, against FedAvg in each cluster from that cluster's component."""
    federation = small(1)
    task = logistic_task(federation)
    algorithm = fedem(rate=0.5, steps=3, hard=True)
    start = algorithm.init(task, jax.random.key(2))
    after = learn(federation, algorithm, 1, task=task, initial=start)
    equal = np.full((CLIENTS, 3), 1 / 3)
    problem = MixtureProblem.of(federation, Logistic())
    chosen = problem.best_weights(problem.posterior(scores(start["params"]), equal)).argmax(axis=1)
    worst = 0.0
    for m in range(3):
        moved = _average(federation, task, start["params"][m], np.flatnonzero(chosen == m))
        worst = max(worst, largest_difference(after.state["params"][m], moved))
    return worst


def _average(federation: Federation, task: Task, start: PyTree, members: Int64s) -> PyTree:
    """FedAvg of some clients, who count as much as they do among all; everyone else stays."""
    if not len(members):
        return start
    plain = FedAvg(work=LocalWork(steps=3, batch_size=0), optimizer=Optimizer("sgd", 0.5))
    initial = {"params": start, "server": plain.init(task, jax.random.key(0))["server"]}
    run = learn(federation.subset(members), plain, 1, task=task, initial=initial)
    share = float(federation.importance[members].sum())
    return jax.tree.map(lambda a, b: share * a + (1 - share) * b, run.state["params"], start)


def _prior_gap(rng: np.random.Generator) -> float:
    """-log of a matrix-normal density, less the penalty, is the same for all models."""
    root = rng.normal(size=(4, 4))
    omega = root @ root.T + np.eye(4)
    prior = matrix_normal(rowcov=np.eye(3), colcov=np.linalg.inv(omega) / (2 * 0.7))
    draws = [rng.normal(size=(3, 4)) for _ in range(5)]
    return float(np.ptp([-prior.logpdf(w) - 0.7 * np.trace(w @ omega @ w.T) for w in draws]))


# Surrogates, newcomers and solvers ------------------------------------------------------------------------


def surrogate_claims(quick: bool) -> Iterator[Claim]:
    """FedEM's bound, averaging and a parabola are surrogates; a flat parabola is none."""
    federation = small(2)
    task, (x, y) = logistic_task(federation), federation.train.client(0)
    steep = 0.5 * np.linalg.eigvalsh(x.T @ x / len(x)).max() + 0.5
    kinds: dict[str, Surrogate] = {"mixture": MixtureBound(), "parabola": Quadratic(steep)}
    if not quick:
        kinds["averaging"] = Averaging()
    for name, surrogate in kinds.items():
        found = check_surrogate(surrogate, task, x, y, points=5)
        worst = max(
            found.below, found.gap, found.gradient_gap, found.batch_gap, found.not_best, found.step_gap
        )
        yield at_most("S7", f"worst broken promise of a surrogate, {name}", [max(worst, 0.0)], EXACT)
    flat = check_surrogate(Quadratic(1e-3), task, x, y, points=5)
    yield at_least("S7", "how far a parabola that is too flat falls below", [flat.below], 1e-3)
    general = learn(federation, SurrogateOptimizer(work=LocalWork(epochs=1, batch_size=32)), 3, task=task)
    own = learn(federation, FedEM(work=LocalWork(epochs=1, batch_size=32)), 3, task=task)
    gap = largest_difference(general.state, own.state)
    yield at_most("S7", "surrogate optimization of the mixture's bound against FedEM", [gap], 1e-6)


def newcomer_claims(seeds: range) -> Iterator[Claim]:
    """A client that joins finds the same mixture weights from wherever it starts."""
    apart = []
    for problem, theta, weights, _ in map(draw_problem, seeds):
        other = np.random.default_rng(77).dirichlet(np.ones(3), CLIENTS)
        ends = [problem.fit_weights(theta, start, 3000) for start in (weights, other)]
        apart.append(float(np.abs(ends[0] - ends[1]).max()))
    yield at_most("S5", "mixture weights of newcomers from two starts", apart, 1e-6, note="concave problem")
    federation = small(3)
    task, algorithm = logistic_task(federation), fedem(em_steps=20)
    start = algorithm.init(task, jax.random.key(1))["params"]
    problem = MixtureProblem.of(federation, Logistic())
    oracle = problem.fit_weights(scores(start), np.full((CLIENTS, 3), 1 / 3), 20)
    gaps = []
    for t in range(3):
        data = whole_client(*federation.train.client(t))
        found = algorithm.newcomer(task, start, data, data.key)["weights"]
        gaps.append(float(np.abs(np.asarray(found) - oracle[t]).max()))
    yield at_most("S5", "20 EM steps of a newcomer against the oracle", gaps, 1e-4)


def solver_claims(seeds: range) -> Iterator[Claim]:
    """Black-box solvers: what inexactness promises, and that guards keep f from rising."""
    audits, ratios, refused = [], [], []
    task = Task.regression(linear(0, input_shape=(4,), outputs=1), l2=0.05)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(30, 4)).astype(np.float32)
        data = whole_client(x, (x @ rng.normal(size=4)).astype(np.float32))
        start = {"w": jnp.zeros((1, 4))}
        found = audit_solver(GradientDescent(2), task, start, data, condition_number(task, start, data))
        audits.append(found.gradient_ratio - found.gamma)
        wild = make_solver("guarded:sgd", Optimizer("sgd", 1e3)).solve(task, start, data, data.key)
        refused.append(float(wild.refused))
        ratios.append(_contraction_margin(seed))
    yield at_most("S8", "|grad| ratio minus sqrt(alpha kappa), least squares", audits, 1e-6)
    yield at_most("S8", "contraction of the mean over beta^2 kappa^4 alpha", ratios, 1.0)
    yield at_least("S8", "diverging solvers that the guard refuses", refused, 1.0)
    rises = [_largest_rise(seed, alpha) for seed in seeds for alpha in (0.1, 0.5, 0.9)]
    yield at_most(
        "R14",
        "largest rise of f in 30 rounds with alpha-inexact local solvers, alpha = 0.1, 0.5, 0.9",
        rises,
        EXACT,
        hard=False,
        note="the theorem asks for G = 0 and alpha below 1/(beta^2 kappa^4), which real clients do not have",
    )


def _contraction_margin(seed: int, clients: int = 6, alpha: float = 1e-3) -> float:
    """Least squares with one truth, so that all gradients vanish together: the gap left by a round of
    alpha-inexact solvers, over what the theorem allows."""
    rng = np.random.default_rng(seed)
    truth, u = rng.normal(size=5), rng.normal(size=5)
    moments = [np.cov(rng.normal(size=(5, 400))) for _ in range(clients)]
    mean = np.mean(moments, axis=0)
    values = [np.linalg.eigvalsh(one) for one in moments]
    kappa = max(v[-1] for v in values) / min(v[0] for v in values)
    # Every client answers with a point anywhere on the edge of what alpha allows it.
    errors = rng.normal(size=(clients, 5))
    allowed = [alpha * (u - truth) @ one @ (u - truth) for one in moments]
    lengths = [math.sqrt(a / (e @ one @ e)) for a, e, one in zip(allowed, errors, moments, strict=True)]
    new = truth + np.mean(np.array(lengths)[:, None] * errors, axis=0)
    gap, left = ((w - truth) @ mean @ (w - truth) for w in (u, new))
    beta = dissimilarity([one @ (u - truth) for one in moments], np.full(clients, 1 / clients))
    return float(left / gap / contraction_bound(alpha, kappa, beta))


def _largest_rise(seed: int, alpha: float, rounds: int = 30) -> float:
    """f over rounds in which every client goes 1 - alpha of the way to the minimum of each component's
    weighted problem (for convex losses at most alpha of the gap is left)."""
    problem = MixtureProblem.of(small(seed, clients=8), Logistic(l2=1.0))
    theta = 0.3 * np.random.default_rng(seed).normal(size=(3, DIMENSION + 1))
    weights = np.full((8, 3), 1 / 3)
    parts = [problem.subset([t]) for t in range(8)]
    values = [problem.objective(theta, weights)]
    for _ in range(rounds):
        chances = problem.posterior(theta, weights)
        weights = problem.best_weights(chances)
        own = [part.best_components(theta, chances[problem.owners == t]) for t, part in enumerate(parts)]
        mean = np.average(own, axis=0, weights=problem.sizes)
        theta = theta + (1 - alpha) * (mean - theta)
        values.append(problem.objective(theta, weights))
    return max(0.0, float(np.diff(values).max()))


# Without a server -----------------------------------------------------------------------------------------


def mixing_claims(quick: bool) -> Iterator[Claim]:
    """Mixing weights that are known, and how fast models agree."""
    for clients in (5, 8):
        slowest = math.sqrt(1 - contraction(mixing_of("fastest:0", graph_of("path", clients))))
        claim, closed = f"fastest mixing on a path of {clients}", math.cos(math.pi / clients)
        yield matches("S6", claim, slowest, closed, 1e-4, derivation="cos(pi / n)")
    ring = math.sqrt(1 - contraction(mixing_of("fastest:0", graph_of("ring", 6))))
    yield at_most("S6", "fastest mixing on a ring of 6, off its closed form 0.6", [abs(ring - 0.6)], 1e-4)
    clients = 40 if quick else 300
    graph = graph_of("erdos-renyi:0.5", clients, seed=1)
    slow = math.sqrt(1 - contraction(mixing_of("metropolis", graph)))
    yield at_most("R6", f"second eigenvalue, Metropolis, G({clients}, 0.5)", [slow], 0.5)
    fast = math.sqrt(1 - contraction(mixing_of("fastest", graph)))
    yield at_most("R6", "the same, fastest over Metropolis", [fast / slow], 1.0, note="below 1 is faster")
    matrix, rng = mixing_of("metropolis", graph_of("grid", 12)), np.random.default_rng(0)
    models = rng.normal(size=(12, 7))
    ratios = []
    for _ in range(10):
        mixed = matrix @ models
        ratios.append(consensus_distance(mixed) / consensus_distance(models) / (1 - contraction(matrix)))
        models = mixed
    yield at_most("S6", "consensus distance after a mixing over (1 - p) times before", ratios, 1 + 1e-9)


def gossip_claims() -> Iterator[Claim]:
    """Where everyone hears everyone, D-FedEM is FedEM; the step's weight decides whose objective."""
    federation = small(4)
    task = logistic_task(federation)
    options = {"work": LocalWork(steps=1, batch_size=0), "optimizer": Optimizer("sgd", 0.5)}
    everyone = Gossip(matrices=np.full((CLIENTS, CLIENTS), 1 / CLIENTS))
    for weighting, clients in (("importance", federation), ("equal", federation.with_importance("equal"))):
        own = learn(federation, DFedEM(step_weights=weighting, **options), 5, task=task, timing=everyone)  # type: ignore[arg-type]
        server = learn(clients, FedEM(**options), 5, task=task)  # type: ignore[arg-type]
        gap = largest_difference(
            jax.tree.map(lambda leaf: leaf[0], own.state["params"]), server.state["params"]
        )
        words = "T n_t / n, FedEM's objective" if weighting == "importance" else "1, the mean over clients"
        yield at_most("S6", f"complete mixing with a_t = {words}", [gap], SINGLE)
    apart = [
        _distance_traveled(learn(federation, fedem(rate=0.5 * a), 1, task=task, keep_history=True))
        for a in (1.0, 1 / CLIENTS)
    ]
    off = [abs(apart[0] / apart[1] / CLIENTS - 1)]
    yield at_most("S6", f"steps with a_t = n_t / n, off {CLIENTS} times shorter", off, 1e-3, note="erratum")


def _distance_traveled(run: Run) -> float:
    """How far the components went in all rounds."""
    ends = (scores(run.history.state(number)["params"]) for number in (0, run.rounds))
    return float(np.linalg.norm(np.subtract(*ends)))


# Convergence ----------------------------------------------------------------------------------------------


def convergence_claims(quick: bool) -> Iterator[Claim]:
    """With steps of length 1 / sqrt(rounds), gradients of f fall on average at least nearly as fast."""
    lengths = (20, 80, 320) if quick else (25, 100, 400, 1600)
    federation = small(5)
    task, problem = logistic_task(federation), MixtureProblem.of(federation, Logistic())
    means, last_rise = [], []
    for rounds in lengths:
        algorithm = fedem(rate=4.0 / math.sqrt(rounds), steps=2, batch=64)
        squares = _squared_slopes(learn(federation, algorithm, rounds, task=task, keep_history=True), problem)
        means.append(squares.mean())
        half = len(squares) // 2
        last_rise.append(float(squares[half:].mean() / squares[:half].mean()))
    slope = float(np.polyfit(np.log(lengths), np.log(means), 1)[0])
    yield at_most(
        "R16",
        "log-log slope of mean |grad f|^2 against rounds",
        [slope],
        -0.4,
        published="O(1 / sqrt(K))",
        place="Theorem 3.5.3",
    )
    yield at_most("R16", "mean |grad f|^2 of the second half over that of the first", last_rise, 1.0)


def _squared_slopes(run: Run, problem: MixtureProblem) -> Float64s:
    """|grad f|^2 after every round, with the mixture weights that fit the components of that round best
    after as many EM steps as there were rounds."""
    weights, squares = np.full((CLIENTS, 3), 1 / 3), []
    for number in range(run.rounds):
        theta = scores(run.history.state(number)["params"])
        squares.append(float(np.sum(slope_of(problem, theta, weights) ** 2)))
        weights = problem.best_weights(problem.posterior(theta, weights))
    return np.array(squares)
