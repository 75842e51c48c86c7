"""Multi-fidelity claims: cheap simulations, a shared prior (G6 to G8, G13, table 4.2).

Yue and Kontar, Federated Gaussian Process (2024), multi-fidelity modelling: every level is a client. Errors
are over the standard deviation of the expensive level's rows; "alone" has the same optimizer and steps.
Co-kriging pools the rows, is expected to win where levels are alike, and is printed beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from scipy.stats import spearmanr

from unalike.analytics.gaussian_process import GaussianProcess
from unalike.analytics.gaussian_process.benchmark_functions import PROBLEMS, MultiFidelityProblem
from unalike.analytics.gaussian_process.multi_fidelity import (
    ALONE,
    CO_KRIGING,
    FEDERATED,
    MODULAR,
    NONLINEAR,
    MethodComparison,
    compare_methods,
    draw_levels,
    fit_levels,
)
from unalike.participation import Multinomial
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, average

Cell = tuple[float, float]
"""A mean over runs, and its standard deviation."""
COLUMNS = (FEDERATED, ALONE, CO_KRIGING, NONLINEAR, MODULAR)
"""Of Table 4.2: FGPR, Separate, AR, Deep (for which the nonlinear co-kriging stands here), Modular."""
TABLE: dict[str, dict[str, Cell]] = {
    name: dict(zip(COLUMNS, cells, strict=True))
    for name, cells in {
        "currin": ((0.148, 0.056), (0.301, 0.080), (0.295, 0.052), (0.252, 0.064), (0.243, 0.033)),
        "park": ((0.012, 0.002), (0.052, 0.006), (0.035, 0.001), (0.013, 0.001), (0.039, 0.001)),
        "branin": ((0.260, 0.065), (0.374, 0.089), (0.335, 0.070), (0.213, 0.085), (0.365, 0.076)),
        "hartmann": ((0.365, 0.074), (0.456, 0.087), (0.412, 0.067), (0.383, 0.092), (0.438, 0.085)),
        "borehole": ((0.604, 0.006), (0.633, 0.006), (0.615, 0.005), (0.622, 0.007), (0.621, 0.004)),
    }.items()
}
SHARES = (0.17, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0)
"""Weights of the expensive level in figure 4.8."""
FEW = {"hartmann": (200, 100, 15), "borehole": (200, 15)}
HALF_LENGTH = (1.0, 0.1, 0.25)
"""The start for the nonlinear pair, whose box is two wide: half its unit as a length, as elsewhere. From 0.5
of the box every method ends where everything is noise."""


def level_claims(quick: bool) -> Iterator[Claim]:
    """Levels of fidelity as clients."""
    yield from nonlinear_claims(quick)
    yield from currin_claims(quick)
    if quick:
        return
    yield from few_rows_claims()
    yield from share_claims()
    yield from drawn_claims()
    yield from table_claims()


def nonlinear_claims(quick: bool) -> Iterator[Claim]:
    """G6: a pair that one level alone cannot resolve, and one round against many."""
    problem = PROBLEMS["nonlinear"]
    seeds = range(1 if quick else 3)
    many = [
        _compare(problem, seed, (FEDERATED, ALONE), 150, 5, evenly=True, start=HALF_LENGTH) for seed in seeds
    ]
    ratios = [found.errors[FEDERATED] / found.errors[ALONE] for found in many]
    yield at_most("G6", "nonlinear pair: FGPR's error over alone", ratios, 0.6)
    once = [_compare(problem, seed, (FEDERATED,), 1, 750, evenly=True, start=HALF_LENGTH) for seed in seeds]
    times = [a.errors[FEDERATED] / b.errors[FEDERATED] for a, b in zip(once, many, strict=True)]
    words, pilot = "nonlinear pair: error of 1 round over 150, same steps", "pilot of the specification"
    yield at_least("G6", words, times, 1.5, derivation=f"{pilot}: 0.595 over 0.298")
    if quick:
        return
    far = [_compare(problem, seed, (FEDERATED,), 150, 5, evenly=True).errors[FEDERATED] for seed in seeds]
    note = "the start decides: from 0.5 of the box it ends where everything is noise"
    yield at_most("G6", "nonlinear pair, from a longer length: FGPR's error", far, 0.4, hard=False, note=note)


def currin_claims(quick: bool) -> Iterator[Claim]:
    """G7: 200 cheap and 40 expensive rows, one length."""
    found = [_currin(seed) for seed in range(3 if quick else 8)]
    ratios = [one.errors[FEDERATED] / one.errors[ALONE] for one in found]
    wins = float(np.mean([ratio < 1 for ratio in ratios]))
    yield at_least("G7", "Currin 40 / 200: seeds in which FGPR beats alone", [wins], 0.8)
    words = "Currin 40 / 200: FGPR's error over alone"
    said = "0.148 against 0.301"
    yield average("G7", words, ratios, 0.9, most=True, published=said, place="Table 4.2")


def few_rows_claims() -> Iterator[Claim]:
    """G7: fifteen expensive rows, a length per input."""
    for name, sizes in FEW.items():
        problem = replace(PROBLEMS[name], sizes=sizes)
        found = [_compare(problem, seed, (FEDERATED, ALONE), 120, 5, ard=True) for seed in range(5)]
        federated, alone = (float(np.mean([one.errors[m] for one in found])) for m in (FEDERATED, ALONE))
        words = f"{name}, 15 expensive rows, a length per input: FGPR's error over alone"
        yield at_most("G7", words, [federated / alone], 0.9)


def share_claims() -> Iterator[Claim]:
    """G8: what more weight of the expensive level does (figure 4.8)."""
    problem, errors = PROBLEMS["currin"], []
    for share in SHARES:
        weights = (1 - share, share)
        each = [_compare(problem, seed, (FEDERATED,), 120, 5, weights=weights) for seed in range(5)]
        errors.append(float(np.mean([one.errors[FEDERATED] for one in each])))
    shown = ", ".join(f"{error:.3f}" for error in errors)
    said = "consistent, then it increases sharply"
    words = "Currin: error with weight 1 of the expensive level over weight 0.17"
    rise = [errors[-1] / errors[0]]
    yield at_least("G8", words, rise, 1.15, published=said, place="Figure 4.8", note=shown)
    rank = float(spearmanr(SHARES, errors).statistic)
    yield at_least("G8", "Currin: rank correlation of weight and error", [rank], 0.8)


def drawn_claims() -> Iterator[Claim]:
    """G13: two of eight clients drawn in a round."""
    problem, seeds = PROBLEMS["currin"], range(5)
    means = {}
    for drawn in (None, 2):
        errors = [_split_currin(problem, seed, drawn) for seed in seeds]
        means[drawn] = float(np.mean(errors))
    words = "Currin cut into 8 clients: error with 2 drawn over all"
    yield at_most("G13", words, [means[2] / means[None]], 1.1, note=f"all: {means[None]:.4f}")


def table_claims() -> Iterator[Claim]:
    """Table 4.2 at its sizes: FGPR against alone and against co-kriging, one length, three seeds."""
    for name, cells in TABLE.items():
        methods = (FEDERATED, ALONE, CO_KRIGING, MODULAR)
        fgpr, alone, pooled, modular = (cells[method][0] for method in methods)
        found = [_compare(PROBLEMS[name], seed, methods, 120, 5) for seed in range(3)]
        ours, own, best, sparse = (float(np.mean([one.errors[m] for one in found])) for m in methods)
        words, note = f"table 4.2, {name}: FGPR's error over alone", f"{ours:.4f} / {own:.4f}"
        said, place = f"{fgpr} against {alone}", "Table 4.2"
        yield at_most("T4.2", words, [ours / own], 1.0, published=said, place=place, hard=False, note=note)
        words = f"table 4.2, {name}: FGPR's error over co-kriging"
        said, note = f"{fgpr} against {pooled}", f"co-kriging, which pools rows, has {best:.4f}"
        yield at_most("T4.2", words, [ours / best], 1.0, published=said, place=place, hard=False, note=note)
        words = f"table 4.2, {name}: FGPR's error over modular processes"
        said, note = f"{fgpr} against {modular}", f"{ours:.4f} / {sparse:.4f}"
        yield at_most("T4.2", words, [ours / sparse], 1.0, published=said, place=place, hard=False, note=note)


@cache
def _currin(seed: int) -> MethodComparison:
    return _compare(PROBLEMS["currin"], seed, (FEDERATED, ALONE), 120, 5)


def _compare(
    problem: MultiFidelityProblem,
    seed: int,
    methods: tuple[str, ...],
    rounds: int,
    local_steps: int,
    evenly: bool = False,
    **settings: object,
) -> MethodComparison:
    levels, x = draw_levels(problem, seed, evenly=evenly), problem.uniform(1000, seed)
    process = GaussianProcess(
        rounds=rounds,
        local_steps=local_steps,
        domain=(problem.low, problem.high),
        **settings,  # type: ignore[arg-type]
    )
    return compare_methods(levels, x, problem.truth(x), process, methods, seed=seed)


def _split_currin(problem: MultiFidelityProblem, seed: int, drawn: int | None) -> float:
    """The error of the expensive level where the cheap one is cut into seven clients."""
    levels = draw_levels(problem, seed)
    (x, y), high = levels.values()
    pieces = np.array_split(np.arange(len(y)), 7)
    clients = {f"cheap {i}": (x[rows], y[rows]) for i, rows in enumerate(pieces)} | {"high": high}
    who = {} if drawn is None else {"participation": Multinomial(per_round=drawn)}
    process = GaussianProcess(rounds=120, domain=(problem.low, problem.high))
    fit_levels(clients, process, seed=seed, **who)
    places = problem.uniform(1000, seed)
    gap: Float64s = process.predict(places, "high") - problem.truth(places)
    return float(np.sqrt(np.mean(gap**2)) / np.std(high[1]))
