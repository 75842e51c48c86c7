"""Figures of hierarchical linear models: common and device-specific coefficients."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...core.figure_style import INK, MUTED, PALETTE, figure, with_figure_style
from ..hierarchical.baselines import ols_each
from ..hierarchical.hm2 import HM2
from ..hierarchical.penalized import PenalizedRegression
from ..hierarchical.prediction import require_fitted
from .estimates import forest

MOST_TERMS = 3
"""Coefficients of which figures of all clients are drawn."""


def caterpillar(model: HM2 | PenalizedRegression, term: str, level: float = 0.95) -> Figure:
    """A coefficient of every device with its interval, in order, beside the mean of all if there is one."""
    design = require_fitted(model.design)
    place = design.terms.index(term)
    found = [model.device_posterior(i, draws=500) for i in range(len(design))]
    middles = np.array([posterior.mean[place] for posterior in found])
    ends = np.array([posterior.interval(level)[place] for posterior in found])
    order = np.argsort(middles)
    names = [design.federation.name(int(i)) for i in order]
    title = f"{term} at every device, {100 * level:g} % intervals"
    common = float(model.params[place]) if isinstance(model, HM2) else None
    return forest(middles[order], ends[order], names, title, common)


@with_figure_style
def shrinkage(model: HM2, term: str) -> Figure:
    """How far every device's least squares is pulled towards the mean of all; devices with few rows or much
    noise are pulled most."""
    design = require_fitted(model.design)
    place = design.terms.index(term)
    alone, together = ols_each(design)[:, place], model.device_params()[:, place]
    picture = figure(7.6, 3.4)
    axes = picture.subplots()
    axes.plot([alone, together], [np.ones(len(alone)), np.zeros(len(alone))], color=MUTED, linewidth=0.8)
    axes.scatter(alone, np.ones(len(alone)), s=18, color=PALETTE[1])
    axes.scatter(together, np.zeros(len(together)), s=18, color=PALETTE[0])
    axes.axvline(float(model.params[place]), color=INK, linewidth=0.8)
    axes.set_yticks([0, 1], ["together", "alone"])
    axes.set_ylim(-0.3, 1.3)
    axes.set_title(f"{term}: least squares of devices alone, and what they share")
    return picture
