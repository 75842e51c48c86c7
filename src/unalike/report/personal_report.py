"""Personalization report: figures that need client state beside the record."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..advice.mixtures import mixture_weights
from ..training.run import Run
from .mixture_plots import component_use, mixture_heatmap
from .plots import Metrics, curves
from .text_format import scores
from .timing_plots import against_time

_MEAN_MODEL = "mean_model_test_"


def personal_figures(run: Run) -> dict[str, Figure]:
    """The mixture weights of clients, where there are any; the mean model and consensus, without a server."""
    figures = _without_server(run.metrics()) if run.messages.per_client else {}
    template, _ = run.memories.gather(np.zeros(0, np.int64))
    if isinstance(template, dict) and "weights" in template and template["weights"].shape[-1] > 1:
        seen = run.memories.seen()
        if not len(seen):  # real clients keep theirs
            return figures
        weights = mixture_weights(run)[seen]
        figures["Mixture"] = mixture_heatmap(weights)
        figures["Components"] = component_use(weights, run.setting.federation.train.sizes[seen])
    return figures


def _without_server(metrics: Metrics) -> dict[str, Figure]:
    names = [name for name in scores(metrics, _MEAN_MODEL) if name in metrics]
    if not names:
        return {}
    together = curves(metrics, [*names, "consensus_distance"])
    return {"Mean model": together, "Time": against_time(metrics, names)}
