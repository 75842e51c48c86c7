"""Figures and page of defense trade-offs: report cards over parameters.

A figure for each defense: utility and both leakages by the knob's value, with their intervals. One for all:
utility against training leakage and against reference leakage, side by side, for neither says enough alone.
One for the regimes of reference data, if any are given: how useful each defense is at a level of the leakage
that counts there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..core.figure_style import MUTED, color, figure, with_figure_style
from ..privacy.audit.curves import Curve, say_curves, tabulate
from ..privacy.audit.regimes import best_by_level, counted_leakage, say_regimes, tabulate_regimes
from ..privacy.audit.report_card import ReportCard
from ..privacy.audit.statistics import Rate
from ..privacy.audit.tradeoff import usefulness
from ..typing import Config
from .html import write_report

LEAKAGES = ("training leakage", "reference leakage")
_PERCENT = FuncFormatter(lambda share, _: f"{100 * share:g} %")
_CAPTION = "Lines are 95 % intervals (leakages: of the strongest attack, widened for the choice)."


def report_curves(
    curves: Sequence[Curve],
    path: str | Path,
    config: Config,
    regimes: Mapping[str, Sequence[Curve]] | None = None,
) -> Path:
    """Write the page of a sweep, whole or not at all.

    Args:
        curves: report cards of every defense.
        path: the page.
        config: the experiment.
        regimes: the curves of every regime of reference data, to say who is best there.
    """
    figures = {curve.name: knob_plot(curve) for curve in curves}
    if len(curves) > 1:
        figures = {"All defenses": trade_plot(curves), **figures}
    best = {name: best_by_level(found, name) for name, found in (regimes or {}).items()}
    said, tables = [*say_regimes(best), *say_curves(curves)], {"Report cards": tabulate(curves)}
    if regimes:
        figures = {"Regimes of reference data": regime_plot(regimes), **figures}
        tables = {"Regimes of reference data": tabulate_regimes(best), **tables}
    return write_report(
        path,
        title="What defenses trade for what",
        subtitle=" ".join(said),
        summary={"defenses": len(curves), "settings": sum(len(curve.cards) for curve in curves)},
        figures=figures,
        captions=dict.fromkeys(figures, _CAPTION),
        tables={**tables, "What to know": [{"note": one} for one in said]},
        config=config,
        events=[],
    )


@with_figure_style
def knob_plot(curve: Curve) -> Figure:
    """Utility and both leakages by the knob's value."""
    panels = [name for name in ("utility", *LEAKAGES) if any(_rate(c, name) for c in curve.cards)]
    picture = figure(2.7 * len(panels) + 0.4, 2.7)
    places = list(range(len(curve.values)))
    grid = picture.subplots(1, len(panels), squeeze=False)[0]
    for index, (axes, name) in enumerate(zip(grid, panels, strict=True)):
        rates = [_rate(card, name) for card in curve.cards]
        shown = [(place, rate) for place, rate in zip(places, rates, strict=True) if rate is not None]
        _intervals(axes, [place for place, _ in shown], [rate for _, rate in shown], color(index))
        axes.set_xticks(places, curve.values)
        axes.set_xlim(-0.5, len(places) - 0.5)
        axes.set_xlabel(curve.name)
        axes.set_title(_title(curve.cards[0], name))
        _scale(axes, curve.cards[0], name)
    return picture


@with_figure_style
def trade_plot(curves: Sequence[Curve]) -> Figure:
    """Utility against each leakage, a line per defense, through its settings in the order of the knob."""
    picture = figure(8.6, 3.6)
    for axes, name in zip(picture.subplots(1, 2, sharey=True), LEAKAGES, strict=True):
        for index, curve in enumerate(curves):
            pairs = [(rate, card.utility) for card in curve.cards if (rate := _rate(card, name)) is not None]
            x, y = (
                [rate.value for rate in rates] for rates in (zip(*pairs, strict=True) if pairs else ([], []))
            )
            axes.plot(x, y, "o-", color=color(index), markersize=4, label=curve.name)
            for leak, use in pairs:
                axes.plot([leak.low, leak.high], [use.value] * 2, color=color(index), alpha=0.35, linewidth=1)
                axes.plot([leak.value] * 2, [use.low, use.high], color=color(index), alpha=0.35, linewidth=1)
        axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.xaxis.set_major_formatter(_PERCENT)
        axes.set_xlabel(f"{name} (dashed: guessing)")
    first = picture.axes[0]
    first.set_ylabel(curves[0].cards[0].utility_name)
    if curves[0].cards[0].utility_name == "accuracy":
        first.yaxis.set_major_formatter(_PERCENT)
    picture.axes[1].legend(frameon=False, fontsize=8)
    return picture


@with_figure_style
def regime_plot(regimes: Mapping[str, Sequence[Curve]]) -> Figure:
    """Utility against the leakage that counts, a panel per regime and a step line per defense: the best of
    its settings that leak no more."""
    picture = figure(2.7 * len(regimes) + 1.2, 3.2)
    grid = picture.subplots(1, len(regimes), squeeze=False, sharey=True)[0]
    for axes, (regime, curves) in zip(grid, regimes.items(), strict=True):
        for index, curve in enumerate(curves):
            points = [(counted_leakage(card, regime), card) for card in curve.cards]
            allowed = sorted(((leak, card) for leak, card in points if leak is not None), key=lambda p: p[0])
            front = [
                (leak, max((c for _, c in allowed[: k + 1]), key=lambda c: usefulness(c).value).utility)
                for k, (leak, _) in enumerate(allowed)
            ]
            x, y = [leak for leak, _ in front], [rate.value for _, rate in front]
            axes.step(x, y, "o-", where="post", color=color(index), markersize=4, label=curve.name)
            low, high = [rate.low for _, rate in front], [rate.high for _, rate in front]
            axes.vlines(x, low, high, color=color(index), alpha=0.35, linewidth=1)
        axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.xaxis.set_major_formatter(_PERCENT)
        axes.set_title(regime)
        axes.set_xlabel("leakage that counts")
    first = next(iter(regimes.values()))[0].cards[0]
    grid[0].set_ylabel(first.utility_name)
    if first.utility_name == "accuracy":
        grid[0].yaxis.set_major_formatter(_PERCENT)
    grid[-1].legend(frameon=False, fontsize=8)
    return picture


def _intervals(axes: Axes, places: Sequence[int], rates: Sequence[Rate], paint: str) -> None:
    axes.vlines(places, [r.low for r in rates], [r.high for r in rates], color=paint, alpha=0.5, linewidth=2)
    axes.plot(places, [rate.value for rate in rates], "o-", color=paint, markersize=5)


def _scale(axes: Axes, card: ReportCard, name: str) -> None:
    if name in LEAKAGES:
        axes.axhline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.set_ylim(0.4, 1.0)
    if name in LEAKAGES or card.utility_name == "accuracy":
        axes.yaxis.set_major_formatter(_PERCENT)


def _title(card: ReportCard, name: str) -> str:
    return name if name in LEAKAGES else card.utility_name


def _rate(card: ReportCard, name: str) -> Rate | None:
    if name == "utility":
        return card.utility
    part = card.training if name == LEAKAGES[0] else card.reference
    return None if part is None else part.accuracy
