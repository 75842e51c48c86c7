"""Claims on importances of historical and fresh data that need no training.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023): historical clients should count

    f + f (1 - f) / sqrt(kappa^2 - f (1 - f)),     kappa = c2/c1 sqrt(F),     or all if kappa <= sqrt(f).

Numbers of the tables that do not follow from other numbers of the tables are soft claims that do not hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax
import numpy as np
import scipy

from unalike.data.streams.optimal_importance import (
    best_historical_share,
    historical_share,
    imbalance,
    optimal_importance,
    psi,
    share_out,
)
from unalike.data.streams.realized_weights import (
    client_totals,
    constant_weights,
    effective_samples,
    gradient_variability,
    realized_importance,
    round_importance,
    round_weights,
    row_importance,
)
from unalike.models.catalog import model_registry
from unalike.typing import Bools, Float64s
from unalike_studies.streams.solvers import fixed_point
from unalike_studies.theory.streams.bounds import variability_bound
from unalike_studies.theory.streams.lower_bound import lasting_gap, measured_gap
from unalike_studies.theory.streams.tradeoff import (
    effective_fraction,
    gap_curves,
    historical_threshold,
    share_curves,
    tie_fraction,
)

from ..study import Claim, at_least, at_most, matches
from .data import CELLS, CIFAR_GAPS, EFFECTIVE, FRACTIONS, PARAMETERS, SETTINGS, TABLES

PRINTED = 0.005
"""Half of the last of two printed decimals."""


def theory_claims(quick: bool) -> Iterator[Claim]:
    """DS-1 to DS-7 and DS-13 to DS-15."""
    yield from solver_claims(30 if quick else 100)
    yield from importance_claims()
    yield from femnist_claims()
    yield from threshold_claims()
    yield from identity_claims()
    yield from parameter_claims()
    yield from lower_bound_claims(2_000 if quick else 20_000)
    yield from table_claims()
    yield from curve_claims()
    yield from audit_claims()


def solver_claims(count: int) -> Iterator[Claim]:
    """The closed form, the root and general solvers find the same importances."""
    apart, worse, slower = [], [], []
    for seed in range(count):
        shares, fresh, ratio = draw_clients(seed, equal=True)
        closed = best_historical_share(shares[~fresh].sum(), ratio * math.sqrt(fresh.sum()))
        apart.append(abs(float(historical_share(optimal_importance(shares, fresh, ratio), fresh) - closed)))
        shares, fresh, ratio = draw_clients(seed, equal=False)
        least = float(psi(optimal_importance(shares, fresh, ratio), shares, fresh, ratio))
        worse.append(least - least_by_slsqp(shares, fresh, ratio))
        slower.append(abs(least - float(psi(fixed_point(shares, fresh, ratio), shares, fresh, ratio))))
    note = f"{count} random federations"
    yield at_most("DS-1", "equal fresh clients: closed form and solver differ by", apart, 1e-6, note=note)
    yield at_most("DS-1", "unequal ones: psi of the solver above SLSQP's", worse, 1e-9, note=note)
    yield at_most(
        "DS-1", "unequal ones: psi of the solver and of repeated substitution", slower, 1e-7, note=note
    )


def draw_clients(seed: int, equal: bool) -> tuple[Float64s, Bools, float]:
    """Shares of rows, who is fresh, and c2/c1, mostly where both groups should count."""
    rng = np.random.default_rng(seed)
    kept, passing = rng.integers(1, 8), rng.integers(1, 12)
    rows = rng.gamma(1.0, size=kept + passing) + 0.02
    if equal:
        rows[kept:] = rows[kept:].mean()
    shares = rows / rows.sum()
    edge = float(historical_threshold(shares[:kept].sum(), passing))
    return shares, np.arange(kept + passing) >= kept, edge * 10 ** float(rng.uniform(-0.2, 1.0))


def least_by_slsqp(shares: Float64s, fresh: Bools, ratio: float) -> float:
    """The least psi that a general solver finds, from both ends."""
    values = [
        scipy.optimize.minimize(
            lambda p: float(psi(p, shares, fresh, ratio)),
            share_out(start, shares, fresh),
            method="SLSQP",
            bounds=[(0, 1)] * len(shares),
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        for start in (0.5, 0.9)
    ]
    # What does not sum to one is no answer.
    return min((float(v.fun) for v in values if abs(v.x.sum() - 1) < 1e-10), default=math.inf)


def importance_claims() -> Iterator[Claim]:
    """p* of both CIFAR data sets, from the printed c2/c1."""
    for name in ("CIFAR-10", "CIFAR-100"):
        for fraction, cell, table in zip(FRACTIONS, CELLS[name], TABLES, strict=True):
            found = solve_importance(fraction, 25, cell.ratio)
            claim = f"{name}: what historical clients should count, f = {fraction:g}, c2/c1 = {cell.ratio:g}"
            yield matches("DS-2", claim, found, cell.historical, PRINTED, place=table)


def solve_importance(fraction: float, fresh: int, ratio: float) -> float:
    """p* of as many historical as fresh clients, all of a group of equal size."""
    is_fresh = np.arange(2 * fresh) >= fresh
    shares = np.where(is_fresh, (1 - fraction) / fresh, fraction / fresh)
    return float(historical_share(optimal_importance(shares, is_fresh, ratio), is_fresh))


def femnist_claims() -> Iterator[Claim]:
    """c2/c1 from the printed constants of FEMNIST, and the importances that follow."""
    setting = SETTINGS["FEMNIST"]
    for fraction, fresh, cell, table in zip(FRACTIONS, setting.fresh, CELLS["FEMNIST"], TABLES, strict=True):
        ratio = setting.constants.ratio(fresh)
        claim = f"FEMNIST: c2/c1 from its constants, f = {fraction:g}"
        yield matches("DS-3", claim, ratio, cell.ratio, 5e-4, place=table)
        found = solve_importance(fraction, fresh, ratio)
        yield matches(
            "DS-3",
            f"FEMNIST: what historical clients should count, f = {fraction:g}",
            found,
            cell.historical,
            1e-9,
            place=table,
        )


def threshold_claims() -> Iterator[Claim]:
    """Where strategies tie, for c2/c1 = 0.15 and 25 fresh clients."""
    kappa = 0.15 * 5
    crossing = _crossing(0.15)
    how = "root of f + sqrt(f) = kappa"
    yield matches(
        "DS-4", "f at which historical and uniform cost the same", crossing, 0.25, 1e-9, derivation=how
    )
    yield matches(
        "DS-4", "the same from the closed form", float(tie_fraction(kappa)), 0.25, 1e-9, derivation=how
    )
    below, above = solve_importance(0.5624, 25, 0.15), solve_importance(0.5626, 25, 0.15)
    at_edge = Claim(
        "DS-4",
        "historical data alone are best from f = 0.5625 on",
        None,
        "below 1 at 0.5624, 1 at 0.5626",
        f"{below:.6f}, {above:.6f}",
        below < 1 - 1e-6 and above > 1 - 1e-12,
        derivation="f = kappa^2",
    )
    yield at_edge
    for fraction, expected in zip(FRACTIONS, EFFECTIVE, strict=True):
        found = float(effective_fraction(solve_importance(fraction, 25, 0.15), fraction))
        claim = f"N_eff / N of the best importances, f = {fraction:g}"
        yield matches("DS-4", claim, found, expected, 5e-4, derivation="1 - f (1 - f) / kappa^2")


def _crossing(ratio: float) -> float:
    """The historical share of rows where historical and uniform cost the same, or not a number."""
    if _gap(0.005, ratio) * _gap(0.95, ratio) > 0:
        return math.nan
    return float(scipy.optimize.brentq(_gap, 0.005, 0.95, args=(ratio,)))


def _gap(fraction: float, ratio: float) -> float:
    """psi of historical minus psi of uniform, from the clients."""
    is_fresh = np.arange(50) >= 25
    shares = np.where(is_fresh, (1 - fraction) / 25, fraction / 25)
    return float(np.subtract(*psi([share_out(1.0, shares, is_fresh), shares], shares, is_fresh, ratio)))


def identity_claims() -> Iterator[Claim]:
    """Weights of rows, rounds and clients; the number of rows that count; the noise of streams."""
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(5), [4, 6, 3, 8, 9])
    weights = rng.gamma(1.0, size=(40, 30)) * (rng.random((40, 30)) < 0.4)
    totals, losses = client_totals(weights, owners, 5), rng.normal(size=30)
    inside = np.stack([weights[:, rows] @ losses[rows] for rows in _rows(owners)], 1) / np.maximum(
        totals, 1e-300
    )
    mixed = float(round_weights(totals) @ (round_importance(totals) * inside).sum(axis=1))
    whole = float((weights @ losses).sum() / weights.sum())
    yield at_most(
        "DS-5",
        "the mean of the rounds' objectives differs from the objective by",
        [abs(mixed - whole)],
        1e-12,
    )
    apart = np.abs(realized_importance(totals) - round_weights(totals) @ round_importance(totals)).max()
    yield at_most("DS-5", "p_m and sum_t q(t) p_m(t) differ by", [float(apart)], 1e-12)
    yield at_most("DS-5", "rows that count, of 30", [effective_samples(row_importance(weights))], 30.0)
    for name, historical in (("uniform", 0.25), ("historical", 1.0), ("fixed 0.6", 0.6)):
        yield from _strategy_claims(name, historical)


def _rows(owners: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(owners == m) for m in range(owners.max() + 1)]


def _strategy_claims(name: str, historical: float) -> Iterator[Claim]:
    """Two historical and two fresh clients over 60 rounds; a fresh one holds one new row in each."""
    rounds, sizes, fresh = 60, np.array([10, 30, 60, 60]), np.array([False, False, True, True])
    p = share_out(historical, sizes, fresh)
    if name == "uniform":
        p = sizes / sizes.sum()
    owners = np.repeat(np.arange(4), sizes)
    held = np.where(fresh[owners], 0.0, constant_weights(p, sizes)[owners])
    weights = np.tile(held, (rounds, 1))
    for t in range(rounds):
        weights[t, [40 + t, 100 + t]] = p[2:]
    used = effective_samples(row_importance(weights))
    expected = 160 / float(imbalance(p, sizes / 160))
    yield matches(
        "DS-5",
        f"{name}: rows that count, of 160, against N / sum p^2/n",
        used,
        round(expected, 9),
        1e-6,
        derivation="closed form for constant weights",
    )
    # Gradients of length one: their noise is one at most.
    gradients = np.random.default_rng(1).choice([-1.0, 1.0], (160, 1))
    noise = gradient_variability(weights, gradients)
    limit = variability_bound(p, fresh, 1.0) ** 2
    yield at_most(
        "DS-5", f"{name}: variability of gradients, at most sigma^2 F sum p^2", [noise], limit + 1e-12
    )


def parameter_claims() -> Iterator[Claim]:
    """The printed numbers of parameters are those of these models."""
    for name, (model, shape, outputs) in PARAMETERS.items():
        made = model_registry.make(model, input_shape=shape, outputs=outputs)
        leaves = jax.tree.leaves(jax.eval_shape(made.init, jax.random.key(0)))
        count = sum(math.prod(leaf.shape) for leaf in leaves)
        printed = SETTINGS[name].constants.parameters
        yield matches("DS-6", f"{name}: parameters of {model}", count, printed, 0.0, place="Table 4.1")


def lower_bound_claims(rounds: int) -> Iterator[Claim]:
    """One row at a time: what is lost for ever."""
    gaps = [measured_gap(count) for count in (rounds // 4, rounds // 2, rounds)]
    how = "2 q^2 (1 - q)^2 / (1 + q)"
    claim = f"gap after {rounds:,} rounds, against 1/12"
    yield matches("DS-7", claim, gaps[-1], 1 / 12, 10 / rounds, derivation=how)
    claim = "gap of the averaged model in the limit, q = 1/2"
    yield matches("DS-7", claim, lasting_gap(0.5), 1 / 12, 1e-12, derivation=how)
    yield at_least(
        "DS-7", "the gap does not vanish", gaps, 0.08, published="does not vanish", place="Theorem 4.3.3"
    )
    q = np.linspace(0.05, 0.95, 19)
    yield at_least(
        "DS-7",
        "gap over the published 6 q (1 - q)",
        [float(lasting_gap(each) / (6 * each * (1 - each))) for each in q],
        1.0,
        published=">= 1",
        place="equation (G.757)",
        hard=False,
        note="it is q (1-q) / (3 (1+q))",
    )


def table_claims() -> Iterator[Claim]:
    """What the fifteen published cells have in common."""
    cells = [cell for row in CELLS.values() for cell in row]
    fresh_best = sum(c.fresh >= max(c.only_historical, c.uniform, c.ours) for c in cells)
    claim, place = "published cells in which fresh data alone are best", "section 4.3.4.6: never optimal"
    yield matches("DS-13", claim, fresh_best, 0, 0, place=place)
    ahead = [c.ours - max(c.fresh, c.only_historical, c.uniform) for c in cells]
    yield at_least(
        "DS-13",
        "published accuracy of Ours above the best baseline",
        ahead,
        0.0,
        published="at least as well",
        place="section 4.3.4.6",
    )
    for name, gaps in CIFAR_GAPS.items():
        apart = [
            abs(cell.best - getattr(cell, name) - gap)
            for cell, gap in zip(CELLS["CIFAR-10"], gaps, strict=True)
        ]
        claim = f"CIFAR-10: gaps of {name.replace('_', ' ')} in the text and in the table differ by"
        yield at_most("DS-13", claim, [round(value, 6) for value in apart], 0.05)


def curve_claims() -> Iterator[Claim]:
    """What the text reads off its curves (25 fresh clients, as many historical ones)."""
    fractions = np.array([0.05, 0.2, 0.5])
    curves = share_curves(np.geomspace(0.01, 1, 400), fractions)
    leaving = [float(curves.ratios[np.argmax(row < 1)]) for row in curves.historical]
    yield Claim(
        "DS-14",
        "fewer historical rows stop being enough at a smaller c2/c1",
        "smaller",
        "rising with f",
        ", ".join(f"{value:.3f}" for value in leaving),
        bool((np.diff(leaving) > 0).all()),
        place="section G.4.5",
    )
    dense, ratios = np.linspace(0.005, 0.995, 199), np.array([10**-1.3, 0.1, 0.15, 0.3, 10**-0.5])
    gaps = gap_curves(dense, ratios)
    rises = float(np.diff(gaps.historical_over_best, axis=1).max())
    yield at_most("DS-14", "psi_hist - psi* decreases in f: its largest rise", [rises], 1e-12)
    turns = [int((np.diff(np.sign(np.diff(row))) != 0).sum()) for row in gaps.uniform_over_best]
    rising = bool((gaps.uniform_over_best[:, 1] > gaps.uniform_over_best[:, 0]).all())
    yield Claim(
        "DS-14",
        "psi_unif - psi* rises, then falls in f",
        "rises, falls",
        "one turn each, rising first",
        ", ".join(map(str, turns)),
        turns == [1] * len(ratios) and rising,
        place="section 4.3.4.6 and Figure 4.3",
    )
    for ratio, fraction in ((10**-1.3, 0.043), (10**-0.5, 0.728)):
        crossing = _crossing(ratio)
        claim = f"f at which psi_hist = psi_unif, c2/c1 = {ratio:.3g}"
        yield matches("DS-14", claim, crossing, fraction, 5e-4, derivation="root of f + sqrt(f) = kappa")
    beyond = gap_curves(dense, np.array([0.4, 0.5, 1.0])).historical_over_uniform
    yield at_least(
        "DS-14", "psi_hist - psi_unif from c2/c1 = 0.4 on (kappa >= 2)", [float(beyond.min())], 0.0
    )


def audit_claims() -> Iterator[Claim]:
    """Do the printed c2/c1 and p* follow from the printed constants?"""
    for name in ("Synthetic", "CIFAR-10", "CIFAR-100", "Shakespeare"):
        setting = SETTINGS[name]
        for fraction, fresh, cell, table in zip(FRACTIONS, setting.fresh, CELLS[name], TABLES, strict=True):
            ratio = setting.constants.ratio(fresh)
            claim = f"{name}: c2/c1 from the printed constants, f = {fraction:g}"
            yield matches("DS-15", claim, ratio, cell.ratio, 5e-4, hard=False, place=table)
    for name, count in (("Synthetic", None), ("Shakespeare", None), ("Shakespeare", 1)):
        for fraction, fresh, cell, table in zip(
            FRACTIONS, SETTINGS[name].fresh, CELLS[name], TABLES, strict=True
        ):
            found = float(best_historical_share(fraction, cell.ratio * math.sqrt(count or fresh)))
            note = f"{count or fresh} fresh at a time"
            claim = f"{name}: p* from the printed c2/c1, f = {fraction:g}"
            yield matches("DS-15", claim, found, cell.historical, PRINTED, hard=False, note=note, place=table)
