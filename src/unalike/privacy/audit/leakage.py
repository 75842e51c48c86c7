"""Leakage of one set of rows, by attack and by client.

Leakage is the accuracy of a membership attack on a balanced set: one half is none. The strongest of several
attacks looks strong by luck, too, so its interval and its bound on epsilon allow for the choice, by the
correction of Bonferroni.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...typing import Array, Document, Float64s, Int64s
from .attack_sets import AttackSet
from .attacks import Verdict, strongest
from .distribution_shift import ShiftControl
from .epsilon import EpsilonBound, epsilon_lower_bound
from .statistics import Rate, advantage, clopper_pearson, roc

FALSE_ALARMS = (0.001, 0.01)
LEVEL = 0.95


@dataclass(frozen=True)
class AttackResult:
    """How well one attack does."""

    attack: str
    accuracy: Rate
    auc: float
    tpr: dict[float, Rate | None]
    """By share of false alarms; None where there are too few non-members to tell."""
    roc: tuple[Float64s, Float64s]

    def as_dict(self) -> Document:
        """For machines."""
        return {
            "attack": self.attack,
            "accuracy": self.accuracy.as_dict(),
            "advantage": advantage(self.accuracy).as_dict(),
            "auc": self.auc,
            **{
                f"tpr_at_fpr_{fpr:g}": None if rate is None else rate.as_dict()
                for fpr, rate in self.tpr.items()
            },
        }

    def readable(self) -> dict[str, str]:
        """For people."""
        shown = {
            f"TPR at {100 * fpr:g} % FPR": "too few rows" if r is None else str(r)
            for fpr, r in self.tpr.items()
        }
        return {
            "attack": self.attack,
            "accuracy": str(self.accuracy),
            "advantage": f"{advantage(self.accuracy).value:+.3f}",
            "AUC": f"{self.auc:.3f}",
            **shown,
        }


@dataclass(frozen=True)
class Part:
    """The leakage of some clients' rows, under the attack that is strongest for all."""

    name: str
    accuracy: Rate

    def as_dict(self) -> Document:
        """For machines."""
        return {"name": self.name, **self.accuracy.as_dict()}


@dataclass(frozen=True)
class Leakage:
    """What attacks find out of one set."""

    what: str
    rows: int
    """Members and non-members together."""
    attacks: tuple[AttackResult, ...]
    strongest: str
    accuracy: Rate
    """Of the strongest attack, with an interval that allows for the choice among attacks."""
    epsilon: EpsilonBound
    shift: ShiftControl | None
    clients: tuple[Part, ...]
    groups: tuple[Part, ...]

    @property
    def leaks(self) -> bool:
        """Whether the strongest attack beats guessing for certain, as far as its interval goes."""
        return self.accuracy.low > 0.5

    @property
    def best(self) -> AttackResult:
        """The strongest attack's result."""
        return next(one for one in self.attacks if one.attack == self.strongest)

    @property
    def outlier(self) -> Part | None:
        """The client that leaks most, if it leaks more than all together by more than the luck of being the
        first of so many."""
        most = self.clients[0]
        level = 1 - (1 - LEVEL) / len(self.clients)
        hits, rows = round(most.accuracy.value * most.accuracy.rows), most.accuracy.rows
        return most if clopper_pearson(hits, rows, level).low > self.accuracy.value else None

    def as_dict(self) -> Document:
        """For machines."""
        shift = (
            None if self.shift is None else {**self.shift.accuracy.as_dict(), "shifted": self.shift.shifted}
        )
        return {
            "rows": self.rows,
            "strongest": self.strongest,
            "accuracy": self.accuracy.as_dict(),
            "advantage": advantage(self.accuracy).as_dict(),
            "epsilon_lower_bound": self.epsilon._asdict(),
            "shift_control": shift,
            "attacks": [one.as_dict() for one in self.attacks],
            "clients": [one.as_dict() for one in self.clients],
            "groups": [one.as_dict() for one in self.groups],
        }


def measure_leakage(
    what: str,
    verdicts: list[Verdict],
    chosen: AttackSet,
    owners: Int64s,
    names: Sequence[str],
    groups: Sequence[str] | None,
    *,
    shift: ShiftControl | None = None,
    delta: float = 1e-5,
    seed: int = 0,
) -> Leakage:
    """Judge every attack on a balanced set; `owners` are the clients of all rows, `names` and `groups` those
    of all clients."""
    rows, member = chosen
    results = tuple(_result(one, rows, member) for one in verdicts)
    best = strongest(verdicts, rows, member)
    mine = owners[rows]
    level = 1 - (1 - LEVEL) / len(verdicts)
    bound = epsilon_lower_bound(best.scores[rows], member, delta, level, seed)
    by_group = [] if groups is None else _parts(best, rows, member, np.asarray(groups)[mine])
    return Leakage(
        what,
        len(rows),
        results,
        best.attack,
        best.accuracy(rows, member, level),
        bound,
        shift,
        tuple(_parts(best, rows, member, np.asarray(names)[mine])),
        tuple(by_group),
    )


def _result(one: Verdict, rows: Array, member: Array) -> AttackResult:
    tpr = {fpr: one.tpr(rows, member, fpr) for fpr in FALSE_ALARMS}
    curve = roc(one.scores[rows], member)
    return AttackResult(one.attack, one.accuracy(rows, member), one.auc(rows, member), tpr, curve)


def _parts(one: Verdict, rows: Array, member: Array, names: Array) -> list[Part]:
    """A part for every name that has rows, those that leak most first."""
    right = one.guess[rows] == member
    each, places = np.unique(names, return_inverse=True)
    count, hits = np.bincount(places), np.bincount(places, weights=right)
    found = [
        Part(str(name), clopper_pearson(int(h), int(n))) for name, h, n in zip(each, hits, count, strict=True)
    ]
    return sorted(found, key=lambda part: -part.accuracy.value)
