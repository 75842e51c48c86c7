"""Regret of FEM-OMD: games with changing mixture weights.

Marfoq's doctoral thesis (2023), section 4.4. Only figures and words were published. Orderings are hard; the
numbers of a pilot with the same choices are soft, to be met within 30 %. The slope of a regret is about 0.5
for sqrt(T) and 1 for a linear one. The limits of slopes, of the guard, of the rate and of the k-means start
are ours, set when first runs had been seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from unalike.algorithms.shared.federated_kmeans import federated_kmeans
from unalike.core.random import generator
from unalike.theory.mixtures.regret import regret_curve, regret_slope
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, average, in_order
from .data import Played, World, play, preset
from .images import Pictures, choose_rate, digits, mnist, picture_accuracies, pooled_hits, rival_accuracies
from .labels import Labels, accuracies, best_accuracy, mixture_player, quarter, single_player

PILOT = 0.3
"""How far a mean over seeds may be from the pilot's."""
DIGIT_RATES = 0.3, 0.1
"""What the grid gave for FEM-OMD and FedOMD on 8x8 digits."""
SYNTHETIC, IMAGES = "section 4.4.5.1", "section 4.4.5.2, MNIST"
"""Where what was published stands, on Gaussian components and on images."""
STARVED = "a component without rows moves by masses near the smallest float, which decide how far"
SMALL = World(components=3, dimension=5, rows=10, steps=200)
"""The world in which splitting, gradients, rates and starts were compared."""


def training_claims(quick: bool) -> Iterator[Claim]:
    """M6 to M13."""
    seeds = range(2 if quick else 4)
    yield from root_claims(seeds)
    yield from collaboration_claims(seeds)
    yield from sample_claims(seeds, quick)
    yield from splitting_claims(seeds)
    yield from guard_claims(seeds)
    yield from baseline_claims(seeds)
    yield from start_claims(seeds)
    yield from spread_claims(seeds, quick)
    yield from conflict_claims(range(2 if quick else 3))
    yield from group_claims(range(2 if quick else 3))
    yield from picture_claims("digits", digits(), range(1 if quick else 3), DIGIT_RATES if quick else None)
    images = None if quick else mnist()
    if images is not None:
        yield from picture_claims("MNIST", images, range(2))


def games(world: World, seeds: Sequence[int], **options: Any) -> list[Played]:
    """One game for each seed, as published but for the options."""
    return [play(world, preset(world, **options), seed) for seed in seeds]


def finals(found: Sequence[Played]) -> list[float]:
    """R_T of every game."""
    return [one.final for one in found]


def slopes(found: Sequence[Played]) -> list[float]:
    """The slope of every game."""
    return [one.slope for one in found]


def over(some: Sequence[Played], others: Sequence[Played]) -> list[float]:
    """R_T of some games over that of others, seed by seed."""
    return [one.final / other.final for one, other in zip(some, others, strict=True)]


def pilot(id: str, claim: str, found: Sequence[Played], wanted: float, note: str = "") -> Claim:
    """The soft claim that a mean of R_T is the pilot's within 30 %."""
    return near_pilot(id, claim, finals(found), wanted, note)


def near_pilot(id: str, claim: str, values: Sequence[float], wanted: float, note: str = "") -> Claim:
    """The soft claim that a mean over seeds is the pilot's within 30 %."""
    mean, slack = float(np.mean(values)), PILOT * wanted
    expected, holds = f"{wanted:g} ± {slack:.2g}", abs(mean - wanted) <= slack
    spread = float(np.ptp(values)) / 2
    return Claim(id, claim, None, expected, mean, holds, False, spread, note, derivation="pilot")


# Gaussian components --------------------------------------------------------------------------------------


def root_claims(seeds: range) -> Iterator[Claim]:
    """M6: regret like sqrt(T)."""
    world = World(components=3, dimension=5, steps=400)
    short = replace(world, steps=100)
    few, many = games(short, seeds, horizon=100), games(world, seeds, horizon=400)
    yield at_most(
        "M6", "R_400 / R_100, rates by horizon", over(many, few), 2.5, note="2 is sqrt(T), 4 is linear"
    )
    yield pilot("M6", "R_100, rate by horizon", few, 2.17)
    yield pilot("M6", "R_400, rate by horizon", many, 3.96)
    anytime = games(world, seeds)
    claim = "slope of the regret, any-time rate"
    yield at_most("M6", claim, slopes(anytime), 0.75, published="sub-linear", place=SYNTHETIC)
    yield pilot("M6", "R_400, any-time rate", anytime, 7.55)


def collaboration_claims(seeds: range) -> Iterator[Claim]:
    """M7: one row per client and step."""
    alone, ten, hundred = (games(World(clients=c, rows=1), seeds) for c in (1, 10, 100))
    yield at_least("M7", "regret of 1 client over that of 100, n = 1", over(alone, hundred), 10)
    better: dict[str, Any] = {"published": "larger C better", "place": SYNTHETIC}
    yield at_least("M7", "regret of 1 client over that of 10", over(alone, ten), 1, **better)
    yield at_least("M7", "regret of 10 clients over that of 100", over(ten, hundred), 1, **better)
    smaller = f"{SYNTHETIC}: C below 100"
    yield average("M7", "slope with 1 client", slopes(alone), 0.9, published="linear", place=smaller)
    yield average(
        "M7", "slope with 10 clients", slopes(ten), 0.8, published="linear", place=smaller, hard=False
    )
    yield average(
        "M7",
        "slope with 100 clients",
        slopes(hundred),
        0.6,
        most=True,
        published="sub-linear",
        place=SYNTHETIC,
    )
    note = (
        "of a single row all components' means are that row; how much then happens is a matter of underflow"
    )
    yield pilot("M7", "R_300 with 1 client", alone, 626, note=note)
    yield pilot("M7", "R_300 with 10 clients", ten, 266)
    yield pilot("M7", "R_300 with 100 clients", hundred, 21.8)


def sample_claims(seeds: range, quick: bool) -> Iterator[Claim]:
    """M8: more rows per client and step."""
    one, many = (games(World(rows=n), seeds) for n in (1, 30))
    yield at_least("M8", "regret with n = 1 over that with n = 30, 50 clients", over(one, many), 1)
    yield at_most("M8", "slope with n = 30", slopes(many), 0.75, published="sub-linear", place=SYNTHETIC)
    claim = "slope with n = 1, 50 clients"
    yield average("M8", claim, slopes(one), 0.9, published="linear", place=SYNTHETIC, hard=False)
    few = games(World(clients=5, rows=1), seeds)
    yield average("M8", "slope with n = 1, 5 clients", slopes(few), 0.9, published="linear", place=SYNTHETIC)
    yield pilot("M8", "R_300 with n = 1", one, 25.7)
    yield pilot("M8", "R_300 with n = 30", many, 14.2)
    if not quick:
        ten = games(World(rows=10), seeds)
        yield at_most("M8", "slope with n = 10", slopes(ten), 0.75, published="sub-linear", place=SYNTHETIC)
        yield pilot("M8", "R_300 with n = 10", ten, 30.3)


def splitting_claims(seeds: range) -> Iterator[Claim]:
    """M9: what a part of the rows per exchange costs, and rows for the gradient."""
    world = World(clients=5)
    split, whole = games(world, seeds), games(world, seeds, split=False)
    yield at_least("M9", "regret with split rows over that without, 5 clients, n = 30", over(split, whole), 2)
    yield pilot("M9", "R_300 split", split, 349, STARVED)
    yield pilot("M9", "R_300 not split", whole, 47, STARVED)
    split, whole, own = (
        games(SMALL, seeds, **options)
        for options in ({}, {"split": False}, {"split": False, "gradient": "data"})
    )
    yield at_least("M9", "the same with 50 clients, n = 10, m = 3", over(split, whole), 1)
    yield at_most("M9", "gradient on own rows over gradient on drawn ones", over(own, whole), 1.3, hard=False)
    pushed = games(SMALL, seeds, split=False, weight_rate=1.0)
    yield at_least(
        "M9", "regret with rate 1 over the usual rate's", over(pushed, whole), 10, note="638 over 5.6"
    )


def guard_claims(seeds: range) -> Iterator[Claim]:
    """A component that nobody has rows of."""
    for world, before, after in ((World(clients=1, rows=1), 750, 76), (World(clients=5), 349, 38)):
        words = f"C = {world.clients}, n = {world.rows}"
        bare, guarded = games(world, seeds), games(world, seeds, min_mass=0.5)
        note = f"pilot: {before} to {after}"
        yield at_least(
            "guard", f"regret without min_mass over that with, {words}", over(bare, guarded), 5, note=note
        )


def baseline_claims(seeds: range) -> Iterator[Claim]:
    """True means with mirror descent, and learned means with equal weights."""
    # Split rows and no guard keep the means' part of the regret in sight; all three see the same rows.
    world = World(components=3, dimension=5, clients=10, persistent=True, steps=200)
    learned, static = (games(world, seeds, learns=what) for what in ("both", "components"))
    oracle = [play(world, preset(world, learns="weights"), seed, world.means(seed)) for seed in seeds]
    yield at_least("baselines", "learned over oracle, weights that persist", over(learned, oracle), 0.95)
    yield at_least(
        "baselines", "equal weights over learned, weights that persist", over(static, learned), 1.5
    )


def start_claims(seeds: range) -> Iterator[Claim]:
    """M10: bad starts, and federated k-means."""
    lonely = World(clients=1, rows=1)
    bad = [play(lonely, preset(lonely), seed, _random_means(lonely, seed)) for seed in seeds]
    claim = "slope from random means, 1 client, n = 1"
    yield average("M10", claim, slopes(bad), 0.9, derivation="linear in the pilot")
    world = World(components=3, dimension=5)
    jumps = [play(world, preset(world), seed, _random_means(world, seed)) for seed in seeds]
    early = [one.regret[world.steps // 4 - 1] for one in jumps]
    yield average("M10", "slope from random means, 50 clients, n = 30, m = 3", slopes(jumps), 0.5, most=True)
    yield near_pilot("M10", "its R_75", early, 27)
    near = games(SMALL, seeds, split=False)
    found = [play(SMALL, preset(SMALL, split=False), seed, _cluster(SMALL, seed)) for seed in seeds]
    yield at_most("M10", "from federated k-means, 20 starts, over near the truth", over(found, near), 1.5)


def _random_means(world: World, seed: int) -> Float64s:
    """Drawn anew from the law of the true means."""
    return world.means(seed + 1000)


def _cluster(world: World, seed: int) -> Float64s:
    """Federated k-means of a first lot of rows, of which nobody is judged."""
    rng, means = generator(seed, "online first lot"), world.means(seed)
    which = [rng.choice(world.components, world.rows, p=weights) for weights in world.weights(seed)[0]]
    rows = [means[one] + rng.normal(size=(world.rows, world.dimension)) for one in which]
    return federated_kmeans(rows, world.components, seed=seed)


def spread_claims(seeds: range, quick: bool) -> Iterator[Claim]:
    """M11: components that lie closer together."""
    for variance in (1.0,) if quick else (1.0, 2.5, 5.0):
        found = slopes(games(World(variance=variance), seeds))
        words = f"slope with s = {variance:g}"
        if variance == 1:
            note = "from a good start"
            yield average(
                "M11", words, found, 0.9, published="linear", place=SYNTHETIC, hard=False, note=note
            )
        else:
            yield average(
                "M11", words, found, 0.75, most=True, published="sub-linear", place=SYNTHETIC, hard=False
            )
    yield plane_claim(seeds, quick)


def plane_claim(seeds: range, quick: bool) -> Claim:
    """M15: in two dimensions, where components overlap, the slope falls with their distance."""
    variances = (5.0, 1.0) if quick else (5.0, 2.5, 1.0)
    found = [float(np.mean(slopes(games(World(dimension=2, variance=s), seeds)))) for s in variances]
    words = f"slope with s = {', '.join(f'{s:g}' for s in variances)} at d = 2 rises"
    return in_order(
        "M15",
        words,
        found,
        published="sub-linear for s >= 2.5, linear for s = 1",
        place=f"{SYNTHETIC}, Figure 4.9 right",
        hard=False,
        note="d is not published; the means of seeds",
    )


# Models of classes ----------------------------------------------------------------------------------------


def conflict_claims(seeds: range) -> Iterator[Claim]:
    """M12: components that disagree on labels."""
    for persistent, margin, words in (
        (True, 30, "weights that persist"),
        (False, 0, "weights redrawn each step"),
    ):
        world = Labels(persistent=persistent)
        ours = [quarter(accuracies(world, mixture_player(), seed), 3) for seed in seeds]
        theirs = [quarter(accuracies(world, single_player(), seed), 3) for seed in seeds]
        gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
        note = f"{np.mean(ours):.1f} and {np.mean(theirs):.1f} %"
        yield at_least("M12", f"FEM-OMD minus FedOMD, last quarter, {words}, points", gaps, margin, note=note)
    world = Labels(persistent=True)
    slow = [quarter(accuracies(world, mixture_player("running-mean"), seed), 3) for seed in seeds]
    fast = [quarter(accuracies(world, mixture_player(), seed), 3) for seed in seeds]
    gaps = [a - b for a, b in zip(fast, slow, strict=True)]
    yield at_least("M12", "last estimate minus running mean, same rate, points", gaps, 5, hard=False)


def group_claims(seeds: range) -> Iterator[Claim]:
    """M13: components that are groups of classes, as published; a stand-in for MNIST."""
    world = Labels(grouped=True, length=4.0, steps=300)
    ours = [accuracies(world, mixture_player(), seed) for seed in seeds]
    theirs = [accuracies(world, single_player(), seed) for seed in seeds]
    best = [np.full(world.steps, best_accuracy(world, seed)) for seed in seeds]
    yield from compared_claims("Gaussian classes", ours, theirs, best)


def picture_claims(
    name: str, lesson: Pictures, seeds: range, rates: tuple[float, float] | None = None
) -> Iterator[Claim]:
    """M13 on real images; the fixed rival is one model that saw all of them."""
    hits, mixtures = pooled_hits(lesson), partial(mixture_player, "last")
    first, second = rates or (choose_rate(lesson, mixtures), choose_rate(lesson, single_player))
    players = mixtures(first), single_player(second)
    found = [[picture_accuracies(lesson, player, seed) for seed in seeds] for player in players]
    ours, theirs = ([accuracy for accuracy, _ in one] for one in found)
    again = [int(passes.sum()) for _, passes in found[0]]
    note = f"rates {first:g} and {second:g}; another pass over a group was begun {np.mean(again):.1f} times"
    yield from compared_claims(name, ours, theirs, [rival_accuracies(lesson, hits, s) for s in seeds], note)


def compared_claims(
    name: str, ours: list[Float64s], theirs: list[Float64s], best: list[Float64s], note: str = ""
) -> Iterator[Claim]:
    """Both methods at the end, at the beginning, and their regrets of accuracy (4.47) against the accuracies
    of one model; all of it is soft."""
    late = [abs(quarter(a, 3) - quarter(b, 3)) for a, b in zip(ours, theirs, strict=True)]
    words = f"{name}: FEM-OMD and FedOMD apart in the last quarter, points"
    yield at_most("M13", words, late, 1, hard=False, note=note)
    early = [quarter(a, 0) - quarter(b, 0) for a, b in zip(ours, theirs, strict=True)]
    published = "FEM-OMD is sub-linear earlier"
    words = f"{name}: FEM-OMD minus FedOMD, first quarter, points"
    yield at_least("M13", words, early, 0, hard=False, published=published, place=IMAGES)
    said = "sub-linear before step 200", "sub-linear later"
    for method, found, published in zip(("FEM-OMD", "FedOMD"), (ours, theirs), said, strict=True):
        curves = [regret_curve(1 - one, 1 - top) for one, top in zip(found, best, strict=True)]
        final = np.mean([curve[-1] for curve in curves])
        told = f"regret of accuracy {final:.1f} in {len(found[0])} steps, against one model for all"
        slope = [regret_slope(curve) for curve in curves]
        words = f"{name}: slope of {method}'s regret"
        yield average(
            "M13", words, slope, 0.75, most=True, hard=False, published=published, place=IMAGES, note=told
        )
