"""Attack thresholds, tuned on models whose members are known.

    member  <=>  score >= t        with the t that is right most often on shadow models' rows

One line for all rows, or one for every class: Yeom, Giacomelli, Fredrikson and Jha, "Privacy Risk in Machine
Learning" (2018); Song and Mittal, "Systematic Evaluation of Privacy Risks of Machine Learning Models" (2021).
"""

from __future__ import annotations

import numpy as np

from ...typing import Array, Bools, Float64s, Int64s


def best_threshold(scores: Array, member: Bools) -> float:
    """The threshold with the largest mean of true positive and true negative rate.

    >>> best_threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True]))
    2.5
    """
    members, others = int(member.sum()), int((~member).sum())
    if not members or not others:
        return np.inf
    order = np.argsort(-scores, kind="stable")
    ranked, inside = scores[order], member[order]
    gain = np.cumsum(inside / members - ~inside / others)
    ends = np.append(np.diff(ranked) < 0, True)  # a line cannot pass between equal scores
    if gain[ends].max() <= 0:
        return np.inf
    place = int(np.argmax(np.where(ends, gain, -np.inf)))
    if place + 1 == len(ranked):
        return float(ranked[place])
    return float((ranked[place] + ranked[place + 1]) / 2)


def class_thresholds(scores: Array, member: Bools, labels: Int64s, least: int = 10) -> dict[int, float]:
    """A threshold for every class that has enough rows of both kinds and is helped by one; the others use the
    one for all.

    >>> found = class_thresholds(np.arange(4.0), np.arange(4) > 1, np.zeros(4, int), least=1)
    >>> found[0]
    1.5
    """
    answer = {}
    for label in np.unique(labels):
        mine = labels == label
        if min(int(member[mine].sum()), int((~member)[mine].sum())) >= least:
            answer[int(label)] = best_threshold(scores[mine], member[mine])
    return {label: line for label, line in answer.items() if np.isfinite(line)}


def above_thresholds(scores: Float64s, labels: Int64s, by_class: dict[int, float], usual: float) -> Float64s:
    """How far every score is above the threshold of its class."""
    lines = np.full(len(scores), usual)
    for label, line in by_class.items():
        lines[labels == label] = line
    return scores - lines
