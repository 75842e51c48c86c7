"""Long studies: corrected weights and FedFix on all images of MNIST and CIFAR-10.

Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates" (2023), by losses on training rows. Weights: ten clients, times spread from 1
to 0.2 in the order of clients, one local step on 64 rows, five seeds, all images, logistic regression
(CIFAR-10 at 16 x 16 pixels), the learning rate that is best for identical weights used for both kinds; the
authors' programs have momentum that begins anew with every job, which is no momentum in a job of one step.
Policies: twenty clients, ten local steps with momentum 0.9, each policy at its best rate; weights are
corrected for all, where FedBuff's were not in the source. The source races on CIFAR-10 with a CNN, here of
three convolutions; MNIST and logistic regression stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unalike.data.sources.files import local

from ..study import Claim, Effort, at_least, at_published_effort, matches
from ..trainings import Trainings
from .data import Pair, Problem, digits, losses_at, pair, pictures, policy, small_pictures
from .limits import ITERATIONS, limit_pair
from .training import COMPARED, Table, best, best_step_claims, order_claims, race

SEEDS, UNTIL, RACE_UNTIL = 5, 200_000, 5_000
MOMENTUM = 0.9
LADDER = tuple(float(f"{digit}e{power}") for power in range(-5, 0) for digit in (1, 2, 5))
"""The rates of the authors' programs, from 0.00001 to 0.5: all but the first three for MNIST, all but the
last three for CIFAR-10."""
RATES = LADDER[6:]
"""Those that weights are tuned over: with lower ones logistic regression has far to go after 1,000 units."""
Make = Callable[[int], Problem]
WEIGHED: dict[str, tuple[str, Make]] = {
    "MNIST, iid": ("mnist.npz", lambda seed: digits("iid", seed, None)),
    "MNIST, dirichlet:0.1": ("mnist.npz", lambda seed: digits("dirichlet:0.1", seed, None)),
    "CIFAR-10, dirichlet:0.1": ("cifar10.npz", lambda seed: small_pictures("dirichlet:0.1", seed)),
}
RACED: dict[str, tuple[str, Make]] = {
    "MNIST, logistic": ("mnist.npz", lambda seed: digits("dirichlet:0.1", seed, None, 20, 10)),
    "CIFAR-10, logistic": ("cifar10.npz", lambda seed: small_pictures("dirichlet:0.1", seed, 20, 10)),
    "CIFAR-10, CNN": ("cifar10.npz", lambda seed: pictures("dirichlet:0.1", seed, 20, 10)),
}


def there(tasks: dict[str, tuple[str, Make]], trainings: Trainings, momentum: float = 0.0) -> dict[str, Make]:
    """The tasks whose file is there, with trainings that are kept."""

    def kept(make: Make, seed: int) -> Problem:
        return replace(make(seed), trainings=trainings, momentum=momentum)

    return {words: partial(kept, make) for words, (file, make) in tasks.items() if local(file) is not None}


@at_published_effort("async", "AS-19")
def weight_claims(effort: Effort) -> Iterator[Claim]:
    """Identical and corrected weights on every task whose file is there, and iid against unlike clients."""
    (runs, few), (until, short) = effort.runs_of(SEEDS), effort.length_of(UNTIL, "time units")
    tasks, gaps = there(WEIGHED, effort.trainings), {}
    effort.trainings.expect(len(tasks) * (len(RATES) + 2 * runs) + 4 * runs * ("MNIST, iid" in tasks))
    for words, make in tasks.items():
        rate, pairs = pairs_of(make, runs, until)
        yield from order_claims(words, pairs, hard=False, note=f"rate {rate:g}; {few}, {short}")
        gaps[words] = float(np.mean([found.gap for found in pairs]))
    if "MNIST, iid" in gaps:
        yield gap_claim(gaps["MNIST, dirichlet:0.1"], gaps["MNIST, iid"], f"{few}, {short}")
        yield limit_claim(tasks, runs, few)


def limit_claim(tasks: dict[str, Make], runs: int, note: str) -> Claim:
    """The same where time is not cut: at the minima of both objectives, without noise and delay."""
    unlike, iid = (
        float(np.mean([limit_pair(tasks[words](seed)).gap for seed in range(runs)]))
        for words in ("MNIST, dirichlet:0.1", "MNIST, iid")
    )
    return gap_claim(unlike, iid, f"{note}; minima by {ITERATIONS} iterations of L-BFGS, not by training")


def pairs_of(make: Make, runs: int, until: float, rates: Sequence[float] = RATES) -> tuple[float, list[Pair]]:
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
        unlike / iid if iid > 0 else float("nan"),
        2.0,
        1.0,
        hard=False,
        note=f"gaps {unlike:.4f} and {iid:.4f}; {note}",
        place="section 4.5.2",
    )


@at_published_effort("async", "AS-16")
def policy_claims(effort: Effort) -> Iterator[Claim]:
    """FedFix, FedBuff, waiting for nobody and for all, each at its best rate."""
    (runs, few), (until, short) = effort.runs_of(SEEDS), effort.length_of(RACE_UNTIL, "time units")
    tasks, note = there(RACED, effort.trainings, MOMENTUM), f"{few}, {short}"
    effort.trainings.expect(sum(len(COMPARED) * len(rates_for(words)) * runs for words in tasks))
    for words, make in tasks.items():
        table = race([make(seed) for seed in range(runs)], COMPARED, rates_for(words), until)
        yield from best_step_claims(table, f"20 clients, {words}", note, hard=False)
        yield buffered_claim(table, words, note)


def rates_for(words: str) -> Sequence[float]:
    """The published rates of a task.

    >>> min(rates_for("MNIST, logistic")), max(rates_for("CIFAR-10, CNN"))
    (0.0001, 0.05)
    """
    return LADDER[3:] if words.startswith("MNIST") else LADDER[:-3]


def buffered_claim(table: Table, words: str, note: str) -> Claim:
    """FedBuff is ahead of waiting for nobody."""
    ratio = best(table, "async") / best(table, "FedBuff-10")
    claim = f"best loss of async over FedBuff-10's, 20 clients, {words}"
    said, place = "FedBuff always outperforms", "section 4.5.2"
    return at_least("AS-16", claim, [ratio], 1.0, hard=False, published=said, place=place, note=note)
