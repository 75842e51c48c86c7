"""Membership-inference attacks on a model, all of them, and their results.

An attack gives every row a score and a guess. Guesses use nothing of the attacked model but its outputs:
thresholds are those that are right most often on reference models, each attacked as if it were the target.
The gap attack guesses "member" where the prediction is right; on a balanced set its accuracy is

    1/2 + (accuracy on members - accuracy on non-members) / 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import ConfigError
from ...typing import Array, Bools, Float64s, Int64s
from .likelihood_ratio import lira, lira_offline, rmia
from .shadow_models import shadow_scores
from .signals import Signals
from .statistics import Rate, auc, clopper_pearson, tpr_at_fpr
from .thresholds import above_thresholds, best_threshold, class_thresholds

SIGNAL_NAMES = ("loss", "confidence", "entropy", "modified entropy")
ATTACKS = (
    "gap",
    *SIGNAL_NAMES,
    *(f"{name} by class" for name in SIGNAL_NAMES),
    "shadow",
    "lira",
    "lira offline",
    "rmia",
)
"""In the order in which they are reported; a regression has those on losses and the likelihood ratios."""
FEWEST_REFERENCES = 4
CALIBRATED = 4
"""Reference models that are attacked in turn, at most, to tune thresholds of attacks that need the others."""


@dataclass(frozen=True)
class Evidence:
    """All that an attacker has: the target's signals and those of reference models on the same rows."""

    target: Signals
    references: tuple[Signals, ...]
    inside: Bools
    """Which rows every reference model was trained on: (models, rows)."""
    labels: Int64s | None
    """Classes of the rows; None for a regression."""
    others: Int64s
    """Rows that the attacker knows to be drawn from the population (for RMIA)."""

    @cached_property
    def scaled(self) -> Float64s:
        """Scaled confidences of the reference models: (models, rows)."""
        return np.stack([one.scaled for one in self.references])

    @cached_property
    def likelihood(self) -> Float64s:
        """Likelihoods of the reference models: (models, rows)."""
        return np.stack([one.likelihood for one in self.references])

    def as_target(self, model: int) -> Evidence:
        """The same with a reference model in the target's place, whose members are known."""
        rest = [i for i in range(len(self.references)) if i != model]
        return Evidence(
            self.references[model],
            tuple(self.references[i] for i in rest),
            self.inside[rest],
            self.labels,
            self.others,
        )


class Verdict(NamedTuple):
    """What one attack says of every row."""

    attack: str
    scores: Float64s
    guess: Bools

    def accuracy(self, rows: Array, member: Bools, level: float = 0.95) -> Rate:
        """How often it is right on some rows."""
        return clopper_pearson(int((self.guess[rows] == member).sum()), len(rows), level)

    def tpr(self, rows: Array, member: Bools, fpr: float) -> Rate | None:
        """Its true positive rate at few false alarms."""
        return tpr_at_fpr(self.scores[rows], member, fpr)

    def auc(self, rows: Array, member: Bools) -> float:
        """How well its scores rank."""
        return auc(self.scores[rows], member)


def run_attacks(evidence: Evidence, seed: int = 0) -> list[Verdict]:
    """Every attack's scores and guesses, for all rows."""
    check_references(len(evidence.references))
    return [*_gap(evidence), *_thresholds(evidence), _shadow(evidence, seed), *_ratios(evidence)]


def check_references(count: int) -> None:
    """Raise for fewer reference models than attacks can learn from."""
    if count < FEWEST_REFERENCES:
        raise ConfigError(f"an audit needs at least {FEWEST_REFERENCES} reference models, not {count}.")


def strongest(verdicts: list[Verdict], rows: Array, member: Bools) -> Verdict:
    """The attack that is right most often."""
    return max(verdicts, key=lambda one: one.accuracy(rows, member).value)


def _gap(evidence: Evidence) -> Iterator[Verdict]:
    correct = evidence.target.correct
    if correct is not None:
        yield Verdict("gap", correct.astype(np.float64), correct)


def _thresholds(evidence: Evidence) -> Iterator[Verdict]:
    inside = evidence.inside.reshape(-1)
    labels = None if evidence.labels is None else np.tile(evidence.labels, len(evidence.references))
    by_class = []
    for name, score in evidence.target.scores.items():
        known = np.concatenate([one.scores[name] for one in evidence.references])
        usual = best_threshold(known, inside)
        yield Verdict(name, score, score >= usual)
        if labels is not None and evidence.labels is not None:
            lines = class_thresholds(known, inside, labels)
            fallback = usual if np.isfinite(usual) else float(known.max())
            above = above_thresholds(score, evidence.labels, lines, fallback)
            by_class.append(Verdict(f"{name} by class", above, above >= 0))
    yield from by_class


def _shadow(evidence: Evidence, seed: int) -> Verdict:
    shapes = np.concatenate([one.shape for one in evidence.references])
    odds = shadow_scores(shapes, evidence.inside.reshape(-1), evidence.target.shape, seed)
    return Verdict("shadow", odds, odds > 0)


def _ratios(evidence: Evidence) -> Iterator[Verdict]:
    ratio = lira(evidence.target.scaled, evidence.scaled, evidence.inside)
    yield Verdict("lira", ratio, ratio > 0)
    for name, scored in (("lira offline", _offline), ("rmia", _rmia)):
        turns = range(min(CALIBRATED, len(evidence.references)))
        known = np.concatenate([scored(evidence.as_target(i)) for i in turns])
        scores = scored(evidence)
        yield Verdict(
            name, scores, scores >= best_threshold(known, evidence.inside[: len(turns)].reshape(-1))
        )


def _offline(evidence: Evidence) -> Float64s:
    return lira_offline(evidence.target.scaled, evidence.scaled, evidence.inside)


def _rmia(evidence: Evidence) -> Float64s:
    return rmia(evidence.target.likelihood, evidence.likelihood, evidence.others)
