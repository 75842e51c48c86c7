"""Figures of a membership-inference audit.

Curves are drawn on logarithmic axes, because what counts is whom an attack recognizes with hardly any false
alarm, which ordinary axes hide in a corner.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..core.figure_style import MUTED, PALETTE, color, figure, label_ends, with_figure_style
from ..privacy.audit.leakage import Leakage, Part

_CURVES = 4
_MOST_CLIENTS = 30


@with_figure_style
def roc_plot(leakage: Leakage) -> Figure:
    """True against false positive rates of the attacks with the largest areas, both logarithmic."""
    picture = figure(6.4, 4.2)
    axes = picture.subplots()
    least = 2 / max(leakage.rows, 2)  # one of the non-members
    best = sorted(leakage.attacks, key=lambda one: -one.auc)[:_CURVES]
    drawn = [*[one for one in best if one.attack != leakage.strongest][: _CURVES - 1], leakage.best]
    heights, texts = [], []
    for index, one in enumerate(drawn):
        false, true = (np.maximum(rate, least) for rate in one.roc)
        axes.plot(false, true, color=color(index), drawstyle="steps-post")
        at = float(np.interp(0.03, one.roc[0], true))
        heights.append(np.log10(at))
        texts.append(f"{one.attack}\nAUC {one.auc:.2f}")
    axes.plot([least, 1], [least, 1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set(xscale="log", yscale="log", xlim=(least, 1), ylim=(least, 1.05))
    axes.set_title(f"Recognized {leakage.what} rows against false alarms")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")
    _label(axes, heights, texts)
    return picture


@with_figure_style
def leakage_by_client(leakage: Leakage) -> Figure:
    """The accuracy of the strongest attack for every client (those that leak most), with intervals."""
    parts: Sequence[Part] = leakage.clients[:_MOST_CLIENTS]
    picture = figure(7.0, 1.2 + 0.24 * len(parts))
    axes = picture.subplots()
    places = np.arange(len(parts))[::-1]
    values = np.array([part.accuracy.value for part in parts])
    ends = np.array([[part.accuracy.low, part.accuracy.high] for part in parts])
    axes.hlines(places, ends[:, 0], ends[:, 1], color=PALETTE[0], alpha=0.5, linewidth=2)
    axes.plot(values, places, "o", color=PALETTE[0], markersize=5)
    axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.axvline(leakage.accuracy.value, color=PALETTE[1], linewidth=1)
    axes.set_yticks(places, [part.name for part in parts])
    axes.set_xlim(min(0.4, float(ends[:, 0].min())), 1.0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    more = len(leakage.clients) - len(parts)
    axes.set_title(
        f"{leakage.what.capitalize()} leakage of each client" + (f" ({more} more)" if more else "")
    )
    axes.set_xlabel(f"accuracy of {leakage.strongest} (dashed: guessing; line: all clients)")
    return picture


def _label(axes: Axes, heights: Sequence[float], texts: Sequence[str]) -> None:
    """Names right of the curves, in the order of their heights at few false alarms."""
    low, high = np.log10(axes.get_ylim())
    shares = [(height - low) / (high - low) for height in heights]
    bottom, top = axes.get_ylim()
    as_linear = [bottom + share * (top - bottom) for share in shares]
    label_ends(axes, as_linear, texts, [color(i) for i in range(len(texts))], gap=0.13)
