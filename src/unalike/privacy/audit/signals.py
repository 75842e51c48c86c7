"""Membership signals: one number per row of a prediction.

    loss                 - log p_y
    confidence           max_k p_k
    entropy              - sum_k p_k log p_k
    modified entropy     - (1 - p_y) log p_y  -  sum_{k != y} p_k log(1 - p_k)
    scaled confidence    log p_y - log(1 - p_y)

All but the last are turned so that members tend to score high. Modified entropy is that of Song and Mittal,
"Systematic Evaluation of Privacy Risks of Machine Learning Models" (2021): unlike entropy it knows the label.
Scaled confidence is nearly normal over trainings, which likelihood ratios need (Carlini and others, 2022). A
regression has a loss only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...typing import Array, Bools, Float64s

_LEAST = 1e-12
MOST_SHOWN = 10
"""The largest confidences that a shadow classifier looks at."""


@dataclass(frozen=True)
class Signals:
    """Numbers of rows, as one model sees them."""

    scores: Mapping[str, Float64s]
    """By name; the higher, the more like a member."""
    scaled: Float64s
    """Nearly normal over trainings."""
    likelihood: Float64s
    """What the model gives to the row's target: its probability, or exp(-loss) of a regression."""
    correct: Bools | None
    """Whether the prediction is right; None for a regression."""
    shape: Float64s
    """What a shadow classifier looks at, a line per row."""

    def take(self, rows: Array) -> Signals:
        """Those of some rows."""
        return Signals(
            {name: score[rows] for name, score in self.scores.items()},
            self.scaled[rows],
            self.likelihood[rows],
            None if self.correct is None else self.correct[rows],
            self.shape[rows],
        )


def class_signals(logits: Array, labels: Array) -> Signals:
    """Signals of a classification, from logits of shape (rows, classes).

    >>> seen = class_signals(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([0, 0]))
    >>> seen.correct.tolist(), seen.scores["loss"].round(3).tolist(), seen.scaled.tolist()
    ([True, False], [-0.127, -2.127], [2.0, -2.0])
    """
    log_p = _log_softmax(np.asarray(logits, np.float64))
    rows, labels = np.arange(len(log_p)), np.asarray(labels, np.int64).reshape(-1)
    own = log_p[rows, labels]
    p, log_others = np.exp(log_p), _log_one_minus(log_p)
    modified = p * log_others
    modified[rows, labels] = -np.expm1(own) * own
    scores = {
        "loss": own,
        "confidence": log_p.max(-1),
        "entropy": (p * log_p).sum(-1),
        "modified entropy": modified.sum(-1),
    }
    largest = -np.sort(-log_p, axis=-1)[:, :MOST_SHOWN]
    shape = np.column_stack([np.maximum(largest, np.log(_LEAST)), own])
    right = log_p.argmax(-1) == labels
    return Signals(scores, own - log_others[rows, labels], np.exp(own), right, shape)


def value_signals(losses: Array) -> Signals:
    """Signals of a regression, from one loss per row.

    >>> value_signals(np.array([0.5])).scores["loss"].tolist()
    [-0.5]
    """
    loss = np.asarray(losses, np.float64).reshape(-1)
    small = np.log(np.maximum(loss, _LEAST))
    return Signals({"loss": -loss}, -small, np.exp(-loss), None, -small[:, None])


def _log_softmax(logits: Float64s) -> Float64s:
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _log_one_minus(log_p: Float64s) -> Float64s:
    """log(1 - p); for the largest entry as the logarithm of the others' sum, exact where p is nearly one."""
    p, rows = np.exp(log_p), np.arange(len(log_p))
    others = p.copy()
    others[rows, p.argmax(-1)] = 0.0
    rest = 1 - p
    rest[rows, p.argmax(-1)] = others.sum(-1)
    return np.log(np.maximum(rest, 1e-300))
