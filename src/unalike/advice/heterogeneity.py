"""Advice on heterogeneity: several measures of non-IID data, and what follows from them.

The homogeneity of features (E. Buttaci, "Does Perturbation Aid Convergence?", MSc thesis, Politecnico di
Torino) is compared with that of shuffled rows,

    hom / hom_ref,   1 where clients are alike,

and stands beside divergence of labels, diversity of gradients and losses of each other's models: it does not
see labels, so where measures disagree, the others know something that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Federation
from ..data.heterogeneity import pairwise_divergence
from ..data.similarity import Similarity
from ..data.similarity.misalignment import pairs
from ..models import Task
from ..typing import Document, Float64s
from .cohort_similarity import CohortSimilarity
from .disagreement import Disagreement, measure_disagreement, rank_correlation

ALIKE, UNLIKE = 0.95, 0.75
"""From the first ratio on, features are as alike as shuffled rows'; below the second, clearly not."""
DIVIDED = 0.1
"""Bits between label histograms from which labels differ clearly."""


@dataclass(frozen=True)
class MeasureReport:
    """One measure."""

    name: str
    value: float
    alike: float
    """What clients that are alike would have."""
    agreement: float | None
    """Rank correlation over pairs of clients with the misalignment of their features."""


@dataclass(frozen=True, eq=False)
class HeterogeneityAdvice:
    """Measures side by side, where they disagree, and what to use."""

    similarity: Similarity
    reports: tuple[MeasureReport, ...]
    groups: int
    recommended: str
    reasons: tuple[str, ...]
    cohorts: CohortSimilarity | None = None

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        return {
            **self.similarity.as_dict(),
            "measures": [vars(report) for report in self.reports],
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "cohorts": None if self.cohorts is None else self.cohorts.as_dict(),
        }


def advise_heterogeneity(
    federation: Federation,
    similarity: Similarity,
    task: Task | None = None,
    cohorts: CohortSimilarity | None = None,
    seed: int = 0,
) -> HeterogeneityAdvice:
    """What measures say, and what suits these clients; without a task, gradients and losses are left out.

    >>> from unalike.data import load
    >>> from unalike.data.similarity import measure_similarity
    >>> federation = load("digits", partition="iid", clients=10)
    >>> advise_heterogeneity(federation, measure_similarity(federation)).recommended
    'fedavg'
    """
    reports = [MeasureReport("features", similarity.ratio, 1.0, None)]
    if federation.classes is not None:
        reports.append(_labels(federation, similarity))
    if task is not None and len(similarity.compared) > 1:
        reports += _of_models(
            similarity, measure_disagreement(federation, task, similarity.compared, seed=seed)
        )
    groups = int(similarity.groups().max()) + 1
    recommended, reason = _recommend(similarity, reports, groups)
    reasons = (reason, *_disagreements(reports))
    return HeterogeneityAdvice(similarity, tuple(reports), groups, recommended, reasons, cohorts)


def _labels(federation: Federation, similarity: Similarity) -> MeasureReport:
    counts = federation.label_counts()[similarity.compared].astype(np.float64)
    apart = pairwise_divergence(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    mean = float(pairs(apart).mean()) if len(apart) > 1 else 0.0
    return MeasureReport("labels", mean, 0.0, _agreement(similarity.misalignments, apart))


def _of_models(similarity: Similarity, found: Disagreement) -> list[MeasureReport]:
    """Gradients and losses."""
    places = np.searchsorted(similarity.compared, found.clients)
    features = similarity.misalignments[np.ix_(places, places)]
    losses = (found.losses + found.losses.T) / 2
    return [
        MeasureReport("gradients", found.gradient_diversity, 1.0, _agreement(features, found.gradients)),
        MeasureReport("losses", float(pairs(losses).mean()), 0.0, _agreement(features, losses)),
    ]


def _agreement(features: Float64s, others: Float64s) -> float | None:
    found = rank_correlation(features, others)
    return found if np.isfinite(found) else None


def _recommend(similarity: Similarity, reports: list[MeasureReport], groups: int) -> tuple[str, str]:
    if len(similarity.compared) < 2:
        return "local", "There are no two clients to compare."
    labels = next((report.value for report in reports if report.name == "labels"), 0.0)
    if similarity.unsure_signs:
        reason = "Features are centered, so that messages have signs by chance; judge by the other measures."
        return ("fedem" if labels > DIVIDED else "fedavg"), reason
    if groups > 1 and similarity.ratio < ALIKE:
        return "ifca", f"The spectrum speaks of {groups} groups of clients: one model for each."
    if similarity.ratio < UNLIKE or labels > DIVIDED:
        return "fedem", "Clients differ without falling into groups: a mixture of models, or own models."
    return "fedavg", "Clients are alike: one model for all."


def _disagreements(reports: list[MeasureReport]) -> list[str]:
    """Where another measure sees what the features hide, or the other way round."""
    value = {report.name: report.value for report in reports}
    found = []
    if value["features"] >= ALIKE and value.get("labels", 0.0) > DIVIDED:
        found.append(
            f"Labels differ ({value['labels']:.2f} bits) although features point the same way: messages do "
            "not see labels."
        )
    if value["features"] < UNLIKE and value.get("labels", 1.0) < DIVIDED / 2:
        found.append("Features differ although labels do not: the same classes look different to clients.")
    for report in reports:
        if report.agreement is not None and report.agreement < 0.2:
            found.append(
                f"Pairs of clients that {report.name} tell apart are not those that features tell apart "
                f"(rank correlation {report.agreement:.2f})."
            )
    return found
