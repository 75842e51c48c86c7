"""Claims on weighting strategies that need training.

Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated Learning under Heterogeneous and Correlated Client
Availability", 2023. All strategies of a problem are trained on the same trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from unalike.core.pytrees import largest_difference, size
from unalike.data import load
from unalike.data.sources.files import local
from unalike.participation import availability_registry

from ..shared.summaries import mean_of
from ..study import Claim, at_least, at_most
from .data import Curve, Problem, Rates, learn, make_problem, make_teacher_problem, population

BIAS_WEIGHTS = (0.01, 0.1, 1.0, 10.0, 100.0)
STEADY, LARGE = Rates(0.3, 2.0), Rates(1.0, 4.0)
DEVIATION = 0.3
"""How far the clients' teachers are apart where clients are unlike."""


def training_claims(quick: bool) -> Iterator[Claim]:
    """A6 to A11, A14 and A15."""
    seeds, rounds = range(1 if quick else 4), 40 if quick else 100
    alike = [make_teacher_problem(0.0, seed) for seed in seeds]
    unlike = [make_teacher_problem(DEVIATION, seed) for seed in seeds]
    yield from limit_claims(alike[0], rounds)
    yield from exclusion_claims(alike, unlike, rounds)
    yield from cluster_claims(rounds, quick)
    yield from step_claims(alike, rounds, quick)
    yield from correlation_claims(unlike, rounds, quick)
    yield from tradeoff_claims(alike, unlike, rounds, quick)
    yield from traffic_claims(alike[0])
    yield from gain_claims(quick)


def over_seeds(
    problems: list[Problem], name: str, rates: Rates, rounds: int, correlation: float = 0.9
) -> list[Curve]:
    """A strategy on every problem; the problem's place is the seed."""
    return [
        learn(problem, name, rates, rounds, seed, population(correlation, len(problem.federation), seed))
        for seed, problem in enumerate(problems)
    ]


def limit_claims(problem: Problem, rounds: int) -> Iterator[Claim]:
    """A large weight of the bias is the unbiased strategy."""
    pair = [learn(problem, name, STEADY, rounds, 0).run for name in ("ca-fed:1e6", "unbiased")]
    gap = largest_difference(pair[0].state["params"], pair[1].state["params"])
    yield at_most("A6", "CA-Fed with bias weight 1e6 ends at the unbiased model", [gap], 0.0)
    sums = [run.metrics()["weight_sum"][1:] for run in pair]
    differs = float(np.nanmax(np.abs(sums[0] - sums[1])))
    yield at_most("A6", "and gives the same weights in every round", [differs], 0.0)


def exclusion_claims(alike: list[Problem], unlike: list[Problem], rounds: int) -> Iterator[Claim]:
    """How many clients are left out, and from which group."""
    groups = population().groups
    assert groups is not None
    for words, problems in (("alike", alike), ("unlike", unlike)):
        counts = {}
        for weight in BIAS_WEIGHTS:
            curves = over_seeds(problems[:3], f"ca-fed:{weight:g}", STEADY, rounds)
            counts[weight] = np.mean([curve.excluded(groups) for curve in curves], axis=0)
        totals = [float(count.sum()) for count in counts.values()]
        yield Claim(
            "A7",
            f"excluded clients fall with the bias weight (0.01 to 100), clients {words}",
            "falling",
            "not rising",
            ", ".join(f"{total:.1f}" for total in totals),
            all(a >= b for a, b in pairwise(totals)),
            place="section 2.2.4.3",
        )
        for weight in (0.1, 1.0):
            shares = counts[weight] / max(float(counts[weight].sum()), 1e-12)
            hard = words == "alike"
            by_group = " | ".join(f"{count:.1f}" for count in counts[weight])
            note = f"excluded a round, by group: {by_group}" + "; pilot: 0.76 to 0.99" * hard
            yield at_least(
                "A8",
                f"share of exclusions that are rare and correlated, bias weight {weight:g}, clients {words}",
                [float(shares[2])],
                0.7,
                hard=hard,
                note=note,
            )
            if hard:
                yield at_most(
                    "A8",
                    f"share in the often available group, bias weight {weight:g}",
                    [float(shares[0])],
                    0.1,
                )


def cluster_claims(rounds: int, quick: bool) -> Iterator[Claim]:
    """Clients in ten clusters that share a chain: the most correlated cluster is left out most."""
    problem = make_teacher_problem(0.0, 7)
    chains = availability_registry.make("clusters", clients=len(problem.federation), seed=7)
    assert chains.groups is not None
    seeds = range(1 if quick else 10)
    excluded = [
        learn(problem, "ca-fed:1", STEADY, rounds, seed, chains).excluded(chains.groups) for seed in seeds
    ]
    mean = np.mean(excluded, axis=0)
    order = np.argsort(-mean, kind="stable")[: int((mean > 0.5).sum())]
    ordered = bool(len(order)) and order.tolist() == list(range(9, 9 - len(order), -1))
    yield Claim(
        "A8",
        "clusters left out, most often first (alike clients, bias weight 1)",
        "9, 8, 7, 6",
        "9, 8, 7, ... in this order",
        ", ".join(f"{cluster} ({mean[cluster]:.1f})" for cluster in order) or "none",
        ordered,
        hard=not quick,
        place="section 2.2.6.2, MNIST",
    )


def step_claims(alike: list[Problem], rounds: int, quick: bool) -> Iterator[Claim]:
    """With large steps, leaving clients out calms training."""
    names = ("more-available", "ca-fed:0.1", "unbiased")
    deviations = [mean_of(over_seeds(alike, name, LARGE, rounds), "deviation") for name in names]
    yield Claim(
        "A9",
        "deviation of accuracy over the second half: more-available < CA-Fed(0.1) < unbiased (points)",
        None,
        "rising",
        " < ".join(f"{value:.2f}" for value in deviations),
        deviations[0] < deviations[1] < deviations[2],
        hard=not quick,
        note="pilot: 0.36 < 1.44 < 2.49",
    )


def correlation_claims(unlike: list[Problem], rounds: int, quick: bool) -> Iterator[Claim]:
    """Correlation itself hurts: the same availability, with and without runs."""
    runs, independent = (
        mean_of(over_seeds(unlike, "unbiased", STEADY, rounds, nu), "time_average") for nu in (0.9, 0.0)
    )
    yield at_least(
        "A10",
        "accuracy that correlation 0.9 costs, time average, unbiased (points)",
        [independent - runs],
        1.0,
        hard=not quick,
        note="pilot: 1.8 to 2.3",
    )


def tradeoff_claims(alike: list[Problem], unlike: list[Problem], rounds: int, quick: bool) -> Iterator[Claim]:
    """Leaving clients out is quick where they are alike and costs accuracy where they are not."""
    at = min(20, rounds) - 1
    rates = (STEADY,) if quick else (STEADY, Rates(0.3, 8.0), LARGE)
    gains = [
        100 * float(np.mean([a.accuracy[at] - b.accuracy[at] for a, b in zip(*pair, strict=True)]))
        for pair in (
            [over_seeds(alike, name, rate, at + 1) for name in ("ca-fed:0.1", "unbiased")] for rate in rates
        )
    ]
    yield at_least(
        "A11",
        "accuracy of CA-Fed(0.1) over unbiased in round 20, alike clients, mean of three step sizes (points)",
        [float(np.mean(gains))],
        0.0,
        hard=not quick,
        note=f"{', '.join(f'{gain:+.2f}' for gain in gains)}; pilot: 0.6, 1.8, 0.2",
    )
    grid = [STEADY] if quick else [Rates(c, s) for c in (0.1, 0.3, 1.0) for s in (1.0, 2.0, 4.0)]
    tuned = {
        name: max(mean_of(over_seeds(unlike[:2], name, rates, rounds), "end") for rates in grid)
        for name in ("unbiased", "more-available")
    }
    yield at_least(
        "A11",
        "final accuracy of unbiased over more-available, unlike clients, tuned rates (points)",
        [tuned["unbiased"] - tuned["more-available"]],
        3.0,
        hard=not quick,
        note="pilot: 6 to 13",
    )


def traffic_claims(problem: Problem) -> Iterator[Claim]:
    """Everyone who is there sends one number; only those who are used send a model."""
    run = learn(problem, "ca-fed:0.1", STEADY, 20, 0).run
    metrics, parameters = run.metrics(), size(run.message)
    there, used = metrics["available"][1:], metrics["participants"][1:]
    gaps = np.abs(metrics["bytes_up"][1:] - (4 * there + 4 * parameters * used))
    yield at_most("A14", "bytes up are 4 per client there and 4 d per client used", gaps.tolist(), 0.0)
    fewer = float((there - used).sum())
    yield at_least("A14", "uploads saved by leaving clients out, in 20 rounds", [fewer], 1.0)


def gain_claims(quick: bool) -> Iterator[Claim]:
    """Tuned strategies on LEAF's synthetic data, and on MNIST where it is there."""
    yield from _gains(
        "Synthetic(0.5)",
        lambda seed: make_problem(load("synthetic:0.5,0.5", clients=100, seed=seed)),
        quick,
        1.56,
    )
    if not quick and local("mnist.npz") is not None:
        yield from _gains(
            "MNIST",
            lambda seed: make_problem(
                load("mnist", partition="dirichlet-class:0.5", clients=100, samples=10_000, seed=seed)
            ),
            quick,
            0.94,
        )


def _gains(words: str, make: object, quick: bool, published: float) -> Iterator[Claim]:
    """Every strategy with its best rates on the first seed, judged on the others."""
    seeds, rounds = (1, 2) if quick else (1, 2, 3), 30 if quick else 100
    problems = {seed: make(seed) for seed in (0, *seeds)}  # type: ignore[operator]
    grid = [STEADY] if quick else [Rates(c, s) for c in (0.03, 0.1, 0.3, 1.0) for s in (1.0, 3.0)]
    averages, ends, deviations = {}, {}, {}
    weights = ("ca-fed:1",) if quick else tuple(f"ca-fed:{weight:g}" for weight in (0.1, 1.0, 10.0, 100.0))
    for name in ("unbiased", "more-available", "adafed", "f3ast", *weights):
        trial = {
            rates: learn(problems[0], name, rates, rounds, 0, evaluate_every=5).time_average for rates in grid
        }
        best = max(trial, key=lambda rates: trial[rates])
        curves = [learn(problems[seed], name, best, rounds, seed, evaluate_every=5) for seed in seeds]
        averages[name], ends[name] = mean_of(curves, "time_average"), mean_of(curves, "end")
        deviations[name] = mean_of(curves, "deviation")
    cut = f"{len(grid)} pairs of rates, {len(seeds)} runs, T = {rounds}; published 48, 10, 200: --full"
    tuned = max(weights, key=lambda name: averages[name])
    others = {name: value for name, value in averages.items() if name not in weights}
    rival = max(others, key=lambda name: others[name])
    table = "; ".join(
        f"{name} {averages[name]:.1f}/{ends[name]:.1f}/{deviations[name]:.2f}" for name in averages
    )
    yield at_least(
        "A15",
        f"{words}: time-average accuracy of CA-Fed ({tuned}) over the best other ({rival}), points",
        [averages[tuned] - averages[rival]],
        -0.5,
        hard=False,
        note=f"average/end/deviation: {table}; {cut}",
    )
    yield at_least(
        "A15",
        f"{words}: final accuracy of CA-Fed (bias weight 1) over AdaFed, points",
        [ends["ca-fed:1"] - ends["adafed"]],
        published,
        hard=False,
        published=f"+{published}",
        place="section 2.2.6.2",
        note=cut,
    )
