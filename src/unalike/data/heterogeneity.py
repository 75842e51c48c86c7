"""Heterogeneity measures: how non-IID are these clients?

Differences of labels are measured by the mean Jensen-Shannon divergence between two clients' label
histograms (Lin, "Divergence Measures Based on the Shannon Entropy", 1991): 0 when all are alike, 1 bit when
no two share a class.
"""

from __future__ import annotations

import numpy as np

from ..core.random import generator
from ..typing import Document, Float64s, Keywords
from .federation import Federation
from .train_test_split import PARTS

_MOST = 200  # all pairs of more clients than this would take long and say no more


def describe(federation: Federation) -> Document:
    """Sizes, classes and divergence of the clients, ready for JSON.

    >>> two = Federation.from_clients({"a": (np.eye(2), [0, 0]), "b": (np.eye(2), [1, 1])}, test_fraction=0)
    >>> describe(two)["label_divergence"], describe(two)["rows"]["train"]
    (1.0, 4)
    """
    sizes = federation.train.sizes
    facts: Keywords = {
        "description": federation.description,
        "clients": len(federation),
        "input_shape": list(federation.input_shape),
        "classes": federation.classes,
        "rows": {part: int(getattr(federation, part).offsets[-1]) for part in PARTS},
        "rows_per_client": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "mean": float(sizes.mean()),
            "max": int(sizes.max()),
        },
    }
    if federation.target is not None:
        facts["target"] = federation.target
    return facts | (_label_facts(federation) if federation.classes is not None else {})


def mean_divergence(histograms: Float64s) -> float:
    """Mean Jensen-Shannon divergence, in bits, over all pairs of rows (each adds up to one)."""
    n = len(histograms)
    if n < 2:
        return 0.0
    entropies = _entropy(histograms)
    # Clients one by one against all the later ones: memory stays at clients x classes.
    total = sum(
        float(
            (
                _entropy((histograms[i] + histograms[i + 1 :]) / 2) - (entropies[i] + entropies[i + 1 :]) / 2
            ).sum()
        )
        for i in range(n - 1)
    )
    return max(total / (n * (n - 1) / 2), 0.0)


def pairwise_divergence(histograms: Float64s) -> Float64s:
    """The Jensen-Shannon divergence, in bits, of every two rows (each adds up to one).

    >>> pairwise_divergence(np.eye(2))
    array([[0., 1.],
           [1., 0.]])
    """
    entropies = _entropy(histograms)
    mixed = np.stack([_entropy((row + histograms) / 2) for row in histograms])
    return np.maximum(mixed - (entropies[:, None] + entropies) / 2, 0.0)


def _label_facts(federation: Federation) -> Document:
    counts = federation.label_counts()
    sample = np.arange(len(counts))
    if len(counts) > _MOST:
        sample = generator(0, "describe").choice(len(counts), _MOST, replace=False)
    chosen = counts[sample]
    return {
        "classes_per_client": float((counts > 0).sum(axis=1).mean()),
        "label_divergence": mean_divergence(chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1)),
    }


def _entropy(p: Float64s) -> Float64s:
    return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)
