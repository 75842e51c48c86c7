"""Claims on asynchronous training that need training: accuracy of policies in the same time.

Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates" (2023). Runs differ only in when the server aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from unalike.core.pytrees import largest_difference
from unalike.data.sources.files import local
from unalike.timing import Synchronous
from unalike.training.run import Run
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, matches
from .data import Pair, Problem, clouds, digits, learn, losses_at, losses_of, pair, policy

COMPARED = ("wait-for-all", "FedFix-0.5", "FedBuff-10", "async")
CUT = "Gaussian classes, T = 20; images: --full"


# Weights ----------------------------------------------------------------------------------------------------


def weight_claims(quick: bool) -> Iterator[Claim]:
    """Identical weights solve another problem than the one that was asked."""
    draws, until = (2, 100) if quick else (5, 400)
    for partition in ("iid", "dirichlet:0.1"):
        pairs = [pair(clouds(partition, 10, 150, seed), 0.02, until, seed) for seed in range(draws)]
        yield from order_claims(f"Gaussian classes, {partition}", pairs, hard=not quick)
    if not quick and local("mnist.npz") is not None:
        yield from image_claims()


def image_claims() -> Iterator[Claim]:
    """The same on real images, and how much more it matters where clients are unlike."""
    gaps = {}
    for partition in ("iid", "dirichlet:0.1"):
        pairs = [pair(digits(partition, seed), 0.05, 400, seed) for seed in range(3)]
        yield from order_claims(
            f"MNIST, {partition}", pairs, hard=False, note="10,000 images, T = 400; see --full"
        )
        gaps[partition] = float(np.mean([found.gap for found in pairs]))
    ratio = gaps["dirichlet:0.1"] / gaps["iid"]
    note = f"gaps {gaps['dirichlet:0.1']:.4f} and {gaps['iid']:.4f}, 10,000 images"
    yield matches(
        "AS-19",
        "gain of correcting, Dirichlet(0.1) over iid, MNIST",
        ratio,
        2.0,
        1.0,
        hard=False,
        note=note,
        place="section 4.5.2",
    )


def order_claims(words: str, pairs: Sequence[Pair], hard: bool, note: str = "") -> Iterator[Claim]:
    """Which kind of weights has the lower losses, counted over draws; `note` says what was scaled down."""
    wanted = len(pairs) - 1 if len(pairs) > 2 else len(pairs)
    names = (
        "corrected weights have the lower loss (FP)",
        "identical weights have the lower surrogate loss (SP)",
        "corrected weights have the lower deviation between clients",
    )
    for place, name in enumerate(names):
        held = sum(found.orders[place] for found in pairs)
        counted = f"of {len(pairs)} draws; {_means(pairs, place)}" + (f"; {note}" if note else "")
        yield at_least("AS-14", f"{name}, {words}", [float(held)], wanted, hard=hard, note=counted)


def _means(pairs: Sequence[Pair], place: int) -> str:
    """Means of what is compared, identical and corrected."""
    values = []
    for kind in ("identical", "corrected"):
        found = [(p.minimized, getattr(p, kind)) for p in pairs]
        each = [(*m.losses(losses), m.deviations(losses)[0])[place] for m, losses in found]
        values.append(f"{np.mean(each):.4f}")
    return f"{values[0]} identical, {values[1]} corrected"


# Policies ---------------------------------------------------------------------------------------------------


Table = Mapping[str, Float64s]
"""Mean losses over clients by policy: (seeds, learning rates)."""


def race(
    problems: Sequence[Problem], names: Sequence[str], rates: Sequence[float], until: float = 20
) -> Table:
    """Every policy with every learning rate on every problem; the problem's place is the seed."""
    return {
        name: np.array(
            [
                [losses_at(problem, policy(name), rate, until, seed).mean() for rate in rates]
                for seed, problem in enumerate(problems)
            ]
        )
        for name in names
    }


def best(table: Table, name: str) -> float:
    """The mean loss over seeds at the best learning rate."""
    return float(table[name].mean(axis=0).min())


def policy_claims(quick: bool) -> Iterator[Claim]:
    """Small steps, the best steps, and steps that are good for waiting only."""
    rates = (0.01, 0.1, 1.0) if quick else (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    seeds = range(1 if quick else 3)
    twenty = race([clouds("dirichlet:0.1", 20, 100, s, 0, 10) for s in seeds], COMPARED, rates)
    yield from small_step_claims(twenty)
    yield from best_step_claims(twenty, "20 clients, logistic")
    yield from large_step_claims(twenty, rates)
    if not quick:
        fifty = [clouds("dirichlet:0.1", 50, 100, s, 0, 10) for s in seeds]
        yield from best_step_claims(race(fifty, COMPARED[:2], rates), "50 clients, logistic")
        yield from hidden_layer_claims()


def small_step_claims(table: Table) -> Iterator[Claim]:
    """With short steps, whoever aggregates more often is ahead."""
    small = {name: float(losses[:, 0].mean()) for name, losses in table.items()}
    words = ", ".join(f"{name} {loss:.3f}" for name, loss in small.items())
    middle = [small["FedFix-0.5"], small["FedBuff-10"]]
    holds = small["async"] < min(middle) and max(middle) < small["wait-for-all"]
    yield Claim(
        "AS-15",
        "loss at T = 20 with learning rate 0.01: async < FedFix-0.5, FedBuff-10 < waiting",
        "in this order",
        "in this order",
        words,
        holds,
        place="section 4.5.2, CIFAR-10 and Shakespeare",
    )


def best_step_claims(table: Table, words: str, cut: str = CUT, hard: bool = True) -> Iterator[Claim]:
    """Each policy at its best learning rate; `cut` says what was scaled down."""
    ratio = best(table, "FedFix-0.5") / best(table, "wait-for-all")
    losses = ", ".join(f"{name} {best(table, name):.3f}" for name in table)
    note = f"{losses}; {cut}"
    line = f"best loss of FedFix-0.5 over waiting's, {words}"
    yield at_most("AS-16", line, [ratio], 1.0, hard=hard, note=note)
    if "async" in table:
        behind = best(table, "async") / best(table, "wait-for-all")
        yield at_least(
            "AS-16",
            f"best loss of async over waiting's, {words}",
            [behind],
            1.0,
            hard=False,
            published="waiting outperforms",
            place="section 4.5.2, CIFAR-10 and Shakespeare",
            note=f"published for long runs of non-convex models; {cut}",
        )


def hidden_layer_claims() -> Iterator[Claim]:
    """Fifty clients and a model that is not convex."""
    rates = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
    problems = [clouds("dirichlet:0.1", 50, 100, seed, 32, 10) for seed in range(2)]
    table = race(problems, ("FedFix-0.5", "FedBuff-10", "async"), rates)
    note = ", ".join(f"{name} {best(table, name):.3f}" for name in table)
    for name in ("FedFix-0.5", "FedBuff-10"):
        ratio = best(table, name) / best(table, "async")
        yield at_most(
            "AS-16", f"best loss of {name} over async's, 50 clients, MLP", [ratio], 1.0, hard=False, note=note
        )


def large_step_claims(table: Table, rates: Sequence[float]) -> Iterator[Claim]:
    """The largest learning rate that is within a tenth of the best for waiting."""
    waiting, late = table["wait-for-all"].mean(axis=0), table["async"].mean(axis=0)
    place = int(np.flatnonzero(waiting <= 1.1 * waiting.min())[-1])
    yield at_least(
        "AS-17",
        f"loss of async over waiting's at {rates[place]}, the largest rate that is good for waiting",
        [float(late[place] / waiting[place])],
        2.0,
    )


def limit_claims(quick: bool) -> Iterator[Claim]:
    """A wide window is waiting for all; half a window on equal clients is a server step of two."""
    problem = clouds("dirichlet:0.1", 10, 60, 3, 0, 5)
    until = 10 if quick else 30
    plain, twice = problem.algorithm(0.1), problem.algorithm(0.1, 2.0)
    waiting = learn(problem, policy("wait-for-all"), plain, until, 3)
    for name, timing in (("FedFix-1", policy("FedFix-1")), ("synchronous rounds", Synchronous())):
        gap = _difference(waiting, learn(problem, timing, plain, until, 3))
        yield at_most("AS-6", f"{name} end where waiting for all does, difference", [gap], 0.0)
    half = learn(problem, policy("FedFix-0.5", "equal"), plain, until, 3)
    double = learn(problem, policy("wait-for-all", "equal"), twice, until, 3)
    gap = _difference(half, double)
    yield at_most("AS-18", "FedFix-0.5 on F0 ends where a server step of 2 does, difference", [gap], 1e-5)
    alike = abs(losses_of(half).mean() / losses_of(double).mean() - 1)
    yield at_most("AS-18", "relative difference of their losses", [float(alike)], 1e-4)


def _difference(one: Run, other: Run) -> float:
    return float(largest_difference(one.state["params"], other.state["params"]))


def training_claims(quick: bool) -> Iterator[Claim]:
    """AS-6 and AS-14 to AS-19."""
    yield from limit_claims(quick)
    yield from weight_claims(quick)
    yield from policy_claims(quick)
