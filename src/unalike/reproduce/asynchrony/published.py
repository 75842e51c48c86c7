"""Is correcting weights worth it, and is FedFix, on all images of MNIST and CIFAR-10?  (Long studies.)

Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates" (2023), by losses on training rows. Weights: ten clients, times spread from 1
to 0.2, one local step, five seeds, all images, logistic regression (CIFAR-10 at 16 x 16 pixels), the learning
rate that is best for identical weights used for both kinds. Policies: twenty clients and ten local steps,
each at its best rate. Time is cut: 2,000 and 200 units where the authors' programs have 200,000 and 5,000,
and CIFAR-10 has logistic regression in the race, too, where the source has a CNN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...data.sources.files import local
from ..study import Claim, at_least, at_published_effort, fewer, matches
from ..trainings import Trainings
from .data import Pair, Problem, digits, losses_at, pair, policy, small_pictures
from .training import COMPARED, Table, best, best_step_claims, order_claims, race

SEEDS, UNTIL, RACE_UNTIL = 5, 2000.0, 200.0
MOMENTUM = 0.9
RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
Make = Callable[[int], Problem]
CUT = f"T = {UNTIL:g} where 200,000 was published"
RACE_CUT = f"T = {RACE_UNTIL:g} where 5,000 was published"
WEIGHED: dict[str, tuple[str, Make]] = {
    "MNIST, iid": ("mnist.npz", lambda seed: digits("iid", seed, None)),
    "MNIST, dirichlet:0.1": ("mnist.npz", lambda seed: digits("dirichlet:0.1", seed, None)),
    "CIFAR-10, dirichlet:0.1": ("cifar10.npz", lambda seed: small_pictures("dirichlet:0.1", seed)),
}
RACED: dict[str, tuple[str, Make]] = {
    "MNIST": ("mnist.npz", lambda seed: digits("dirichlet:0.1", seed, None, 20, 10)),
    "CIFAR-10, logistic": ("cifar10.npz", lambda seed: small_pictures("dirichlet:0.1", seed, 20, 10)),
}


def there(tasks: dict[str, tuple[str, Make]], trainings: Trainings, momentum: float = 0.0) -> dict[str, Make]:
    """The tasks whose file is there, with trainings that are kept."""

    def kept(make: Make, seed: int) -> Problem:
        return replace(make(seed), trainings=trainings, momentum=momentum)

    return {words: partial(kept, make) for words, (file, make) in tasks.items() if local(file) is not None}


@at_published_effort("async", "AS-19")
def weight_claims(runs: int | None, trainings: Trainings) -> Iterator[Claim]:
    """Identical and corrected weights on every task whose file is there, and iid against unlike clients."""
    count, note = fewer(runs, SEEDS)
    tasks, gaps = there(WEIGHED, trainings), {}
    trainings.expect(len(tasks) * (len(RATES) + 2 * count))
    for words, make in tasks.items():
        rate, pairs = pairs_of(make, count)
        yield from order_claims(words, pairs, hard=False, note=f"rate {rate:g}; {note}; {CUT}")
        gaps[words] = float(np.mean([found.gap for found in pairs]))
    if "MNIST, iid" in gaps:
        yield gap_claim(gaps["MNIST, dirichlet:0.1"], gaps["MNIST, iid"], f"{note}; {CUT}")


def pairs_of(
    make: Make, runs: int, until: float = UNTIL, rates: Sequence[float] = RATES
) -> tuple[float, list[Pair]]:
    """Both kinds of weights at the rate that gives identical ones the lowest true loss on the first seed."""
    first = make(0)
    importance, identical = first.federation.importance, policy("async", weights="identical")
    tried = {rate: float(importance @ losses_at(first, identical, rate, until, 0)) for rate in rates}
    chosen = min(rates, key=lambda rate: tried[rate])
    return chosen, [pair(make(seed), chosen, until, seed) for seed in range(runs)]


def gap_claim(unlike: float, iid: float, note: str) -> Claim:
    """How much more correcting weights is worth where clients are unlike."""
    return matches(
        "AS-19",
        "gain of correcting, Dirichlet(0.1) over iid, MNIST",
        unlike / iid,
        2.0,
        1.0,
        hard=False,
        note=f"gaps {unlike:.4f} and {iid:.4f}; {note}",
    )


@at_published_effort("async", "AS-16")
def policy_claims(runs: int | None, trainings: Trainings) -> Iterator[Claim]:
    """FedFix, FedBuff, waiting for nobody and for all, each at its best rate."""
    count, note = fewer(runs, SEEDS)
    tasks = there(RACED, trainings, MOMENTUM)
    trainings.expect(len(tasks) * len(COMPARED) * len(RATES) * count)
    for words, make in tasks.items():
        table = race([make(seed) for seed in range(count)], COMPARED, RATES, RACE_UNTIL)
        yield from best_step_claims(table, f"20 clients, {words}", f"{note}; {RACE_CUT}", hard=False)
        yield buffered_claim(table, words, note)


def buffered_claim(table: Table, words: str, note: str) -> Claim:
    """FedBuff is ahead of waiting for nobody."""
    ratio = best(table, "async") / best(table, "FedBuff-10")
    claim = f"best loss of async over FedBuff-10's, 20 clients, {words}"
    return at_least("AS-16", claim, [ratio], 1.0, hard=False, published="above 1", note=f"{note}; {RACE_CUT}")
