"""Figures of Gaussian processes: predictions with uncertainty bands, and calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from ...core.figure_style import FAINT, MUTED, PALETTE, figure, with_figure_style
from ...errors import ConfigError, DataError
from ..gaussian_process.calibration import coverage
from ..gaussian_process.client_process import ClientProcess
from ..gaussian_process.regression import GaussianProcess

MOST_PANELS = 6
LEVELS = tuple(np.linspace(0.05, 0.95, 19))


@with_figure_style
def prediction_bands(
    process: GaussianProcess, clients: Sequence[str | int] | None = None, input: int = 0, level: float = 0.95
) -> Figure:
    """One panel per client (the first six, unless said): its rows, its mean, and bands of new observations.

    Along one input; the others stay in the middle of their range.
    """
    chosen = list(process.clients[:MOST_PANELS]) if clients is None else list(clients)
    if not chosen:
        raise ConfigError("choose at least one client to draw.")
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    picture = figure(3.4 * columns, 2.6 * rows)
    panels = np.atleast_1d(picture.subplots(rows, columns)).ravel()
    for axes, client in zip(panels, chosen, strict=False):
        _draw_band(axes, process.client(client), input, level)
        axes.set_title(str(client))
    for axes in panels[len(chosen) :]:
        axes.set_axis_off()
    return picture


@with_figure_style
def calibration_curve(process: GaussianProcess, part: str = "test") -> Figure:
    """The share of observations inside their intervals against the level, over all clients' rows."""
    shares, rows = [], []
    for client in process.clients:
        x, y = process.rows(client, part)
        if len(y):
            mean, std = process.predict(x, client, return_std=True)
            shares.append(coverage(mean, std, y, LEVELS))
            rows.append(len(y))
    if not rows:
        raise DataError(f"no client has rows in the part {part!r} to compare intervals with.")
    picture = figure(4.2, 3.8)
    axes = picture.subplots()
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8)
    for share in shares[:50]:
        axes.plot(LEVELS, share, color=FAINT, linewidth=0.8)
    axes.plot(LEVELS, np.average(shares, axis=0, weights=rows), color=PALETTE[0])
    axes.set_xlabel("level of the interval")
    axes.set_ylabel("observations inside")
    axes.set_title("Calibration")
    return picture


def _draw_band(axes: Axes, process: ClientProcess, input: int, level: float) -> None:
    inputs = process.inputs
    if not 0 <= input < len(inputs.low):
        raise ConfigError(f"there is no input {input}; there are {len(inputs.low)}, from 0.")
    x, y = process.rows()
    places = np.tile(inputs.low + inputs.span / 2, (200, 1))
    places[:, input] = np.linspace(inputs.low[input], inputs.low[input] + inputs.span[input], 200)
    mean, std = process.predict(places, return_std=True)
    reach = norm.ppf(0.5 + level / 2) * std
    axes.fill_between(places[:, input], mean - reach, mean + reach, color=PALETTE[0], alpha=0.2, linewidth=0)
    axes.plot(places[:, input], mean, color=PALETTE[0])
    axes.plot(x[:, input], y, "o", color=PALETTE[1], markersize=2.5)
