"""Claims on the bound, the noise and the restart nodes of SIFU; no training.

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024); its calibration is that of Dwork and Roth (2014), which is no theorem at the published epsilon 10.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.trust.unlearning.calibration import Budget, classic_ratio, exact_ratio, gaussian_delta
from unalike.trust.unlearning.oracle import Node, extend_path, select_restart
from unalike.trust.unlearning.sensitivity import Ledger, removal_distance

from ..study import Claim, at_least, at_most, matches
from .problems import bound_ratios, fine_tuning_gap, logistic_problem, quadratic_problem

TABLE = (
    (10.0, 0.01, 3.21801, 0.04058, 2.85635),
    (5.0, 0.01, 1.60900, 0.00385, 1.75630),
    (2.0, 0.01, 0.64360, 0.00043, 0.89585),
    (1.0, 0.01, 0.32180, 0.00014, 0.53252),
    (0.5, 0.01, 0.16090, 0.00005, 0.31777),
    (10.0, 1e-5, 2.06407, 0.00002, 2.00045),
)
"""Epsilon, delta, classic ratio, its true delta, exact ratio."""
WORKED = ((0.2,), (0.1, 0.125), (0.15, 0.25, 0.05))
"""What a round adds to the sensitivity of clients a, b and c on branches 0, 1 and 2."""


def theory_claims(quick: bool) -> Iterator[Claim]:
    """UL-1 to UL-8."""
    yield from identity_claims()
    yield from bound_claims(5 if quick else 20)
    yield from calibration_claims()
    yield from restart_claims()
    yield from fine_tuning_claims()
    yield from monte_carlo_claims(400_000 if quick else 4_000_000)
    yield from identical_claims()


def identity_claims() -> Iterator[Claim]:
    """One norm says how far the mean moves without a client, and without a group."""
    alone: list[float] = []
    group: list[float] = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weights, models = rng.dirichlet(np.ones(8)), rng.normal(size=(8, 30))
        mean = weights @ models
        for gone, found in (([0], alone), ([0, 3, 5], group)):
            rest = np.setdiff1d(np.arange(8), gone)
            moved = np.linalg.norm(weights[rest] @ models[rest] / weights[rest].sum() - mean)
            share = weights[gone].sum()
            middle = weights[gone] @ models[gone] / share
            said = removal_distance(float(share), float(np.linalg.norm(middle - mean)))
            found.append(abs(said - float(moved)))
    yield at_most("UL-1", "error of p/(1-p) times the norm, one client", alone, 1e-9)
    yield at_most("UL-1", "error of the same for a group around its own mean", group, 1e-9)


def bound_claims(problems: int) -> Iterator[Claim]:
    """The distance to a training without the client over its sensitivity."""
    base, first, fading, shrinks = [], [], [], []
    for seed in range(problems):
        for ridge in (0.0, 0.5):
            problem = quadratic_problem(seed, ridge)
            ratios = bound_ratios(problem, discounted=False)
            base.append(ratios.worst)
            first.append(abs(ratios.first - 1))
            discounted = bound_ratios(problem, discounted=True)
            fading.append(discounted.worst)
            shrinks.append(discounted.shrinks)
    yield at_most("UL-2", "distance over sensitivity, quadratic losses, step 1/L", base, 1 + 1e-9)
    yield at_most("UL-2", "distance from equality after one round", first, 1e-9)
    yield at_most("UL-2", "distance over discounted sensitivity", fading, 1 + 1e-9)
    yield at_least("UL-2", "plain over discounted sensitivity after 40 rounds, at most", [max(shrinks)], 2.0)
    logistic = [bound_ratios(logistic_problem(seed), discounted=False).worst for seed in range(problems)]
    yield at_most("UL-3", "distance over sensitivity, logistic regression, step 2/L", logistic, 1 + 1e-9)


def calibration_claims() -> Iterator[Claim]:
    """The table of ratios, and what the classic rule really gives at the published budget."""
    gaps = [
        max(
            abs(classic_ratio(epsilon, delta) - classic),
            abs(gaussian_delta(epsilon, classic) - true),
            abs(exact_ratio(epsilon, delta) - exact),
        )
        for epsilon, delta, classic, true, exact in TABLE
    ]
    yield at_most("UL-4", "largest error of the table of calibrations", gaps, 6e-6)
    round_trip = [Budget(10, 0.01, s, "classic") for s in (0.01, 0.05, 3.0)]
    errors = [abs(b.sigma_for(b.largest_sensitivity) / b.sigma - 1) for b in round_trip]
    yield at_most("UL-4", "noise of the largest sensitivity against the noise", errors, 1e-12)
    true = gaussian_delta(10, classic_ratio(10, 0.01))
    yield Claim(
        "UL-4",
        "delta of the classic noise at epsilon 10, promised 0.01",
        0.01,
        "0.0406, above what is promised",
        round(true, 5),
        abs(true - 0.04058) < 5e-5,
        place="appendix D.4",
        derivation="exact delta of Gaussian noise",
        note="erratum: the published calibration does not give the published budget; exact calibration does",
    )


def restart_claims() -> Iterator[Claim]:
    """The worked example, the collapse to the root, and the jump at round 500."""
    expected = {False: "(0,5); (1,8); (1,4)", True: "(0,5); (1,4); (1,1)"}
    for path, words in expected.items():
        nodes: tuple[Node, ...] = ()
        found = []
        for rates in WORKED:
            tables = {s: rate * np.arange(11.0)[:, None] for s, rate in enumerate(rates)}
            restart = select_restart(tables, nodes, 1.0, path)
            nodes = extend_path(nodes, restart)
            found.append(f"({restart.branch},{restart.round})")
        rule = "path" if path else "max"
        measured = "; ".join(found)
        yield Claim(
            "UL-5", f"restarts of the worked example, rule {rule}", None, words, measured, measured == words
        )
    steep = np.where(np.arange(11) > 0, 2.0, 0.0)[:, None]
    root = select_restart(dict.fromkeys(range(3), steep), [Node(0, 4), Node(1, 6)], 1.0)
    yield Claim(
        "UL-5",
        "restart where every round is too much",
        None,
        "(0,0)",
        f"({root[0]},{root[1]})",
        root == (0, 0),
    )
    jump = np.where(np.arange(1001) < 500, 0.8, 2.0)[:, None]
    rounds = [
        select_restart(dict.fromkeys(range(3), jump), nodes, 1.0)
        for nodes in ([Node(0, 400), Node(1, 300)], [Node(0, 400), Node(1, 700)])
    ]
    holds = rounds == [(2, 499), (1, 499)]
    words = "; ".join(f"({node.branch},{node.round})" for node in rounds)
    yield Claim("UL-5", "restarts before a jump at round 500", None, "(2,499); (1,499)", words, holds)


def fine_tuning_claims() -> Iterator[Claim]:
    """Fine-tuning never comes to the retrained model where there are more features than rows."""
    gap = fine_tuning_gap(1_000), fine_tuning_gap(20_000)
    yield at_least(
        "UL-6", "distance of fine-tuning from retraining after 20,000 steps", [gap[1].distance], 0.01
    )
    yield at_most("UL-6", "error of the corrected formula of that distance", [g.corrected for g in gap], 1e-9)
    yield at_least(
        "UL-6",
        "error of the printed formula of that distance",
        [g.printed for g in gap],
        0.01,
        note="erratum: the term of the first model is missing",
    )


def monte_carlo_claims(draws: int) -> Iterator[Claim]:
    """The classic noise at epsilon 10 in one dimension, by simulation."""
    rng, ratio = np.random.default_rng(0), classic_ratio(10, 0.01)
    x = ratio + rng.standard_normal(draws)
    gain = ratio * x - ratio**2 / 2  # log of the ratio of densities
    excess = 1 - np.exp(np.minimum(10 - gain, 0))
    error = float(4 * excess.std() / np.sqrt(draws)) + 5e-6
    claim = "delta of the classic noise by simulation"
    known = "exact delta of Gaussian noise"
    yield matches("UL-7", claim, float(excess.mean()), 0.04058, error, derivation=known)


def identical_claims() -> Iterator[Claim]:
    """Clients that are alike need no restart."""
    share = np.full(5, 0.2)
    ledger = Ledger(np.zeros((30, 5)), np.tile(share, (30, 1)), share)
    restart = select_restart({0: ledger.sensitivity("full")[:, [2]]}, [], 0.0)
    yield Claim(
        "UL-8",
        "restart among equal clients, of 30 rounds",
        None,
        "30",
        str(restart.round),
        restart == (0, 30),
    )
