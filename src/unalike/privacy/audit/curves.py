"""Trade-off curves of defenses: report cards over a parameter's range.

A defense is fairly judged by all that its knob can do, not by one setting: a curve is its report cards by the
knob's value. One defense is better than another where its settings dominate settings of the other, in three
metrics at once; a knob that leaves reference leakage as it is cannot trade it for anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from ...typing import Document
from .report_card import ReportCard
from .statistics import Rate
from .tradeoff import compare_cards, dominates, moved


class Curve(NamedTuple):
    """What a defense does as its knob is turned."""

    name: str
    """The defense and its knob, such as "werm weight"."""
    values: tuple[str, ...]
    cards: tuple[ReportCard, ...]

    @property
    def settings(self) -> dict[str, ReportCard]:
        """Its cards, by names that say defense, knob and value."""
        return {f"{self.name} {value}": card for value, card in zip(self.values, self.cards, strict=True)}

    def as_dict(self) -> Document:
        """For machines."""
        points = zip(self.values, self.cards, strict=True)
        return {
            "defense": self.name,
            "settings": [{"value": value, **card.as_dict()} for value, card in points],
        }


def tabulate(curves: Sequence[Curve]) -> list[dict[str, str]]:
    """A line per setting of every defense: three metrics, and which setting of any dominates it."""
    lines = compare_cards({name: card for curve in curves for name, card in curve.settings.items()})
    return [{"setting": line.pop("run"), **line} for line in lines]


def say_curves(curves: Sequence[Curve]) -> list[str]:
    """What to know of them, a sentence each: which defense dominates which, and knobs that move nothing."""
    pairs = [say_pair(one, other) for one, other in combinations(curves, 2)]
    return [*pairs, *(said for curve in curves if (said := check_curve(curve)) is not None)]


def say_pair(one: Curve, other: Curve) -> str:
    """How many settings of each of two defenses are dominated by a setting of the other, in one sentence."""
    told = _tell(one, other, one.cards, other.cards)
    blind = _tell(one, other, *([replace(card, reference=None) for card in c.cards] for c in (one, other)))
    if told == blind:
        return f"{told}."
    return f"{told}; by utility and training leakage alone it would seem that {blind[0].lower()}{blind[1:]}."


def check_curve(curve: Curve) -> str | None:
    """The warning that a knob leaves reference leakage as it is; None where it moves it, or where there are
    no two settings with a reference set."""
    references = [card.reference.accuracy for card in curve.cards if card.reference is not None]
    if len(references) < 2 or moved(references):
        return None
    training = [card.training.accuracy for card in curve.cards]
    ends = _range(references)
    if not moved(training):
        return (
            f"Warning: {curve.name} moves neither training leakage ({_range(training)}) nor reference "
            f"leakage ({ends}) for certain."
        )
    return (
        f"Warning: {curve.name} moves training leakage ({_range(training)}) but not reference leakage "
        f"({ends}) for certain: it cannot trade the one for the other."
    )


def count_dominated(those: Sequence[ReportCard], by: Sequence[ReportCard]) -> int:
    """How many of those cards some card of the others dominates."""
    return sum(any(dominates(better, card) for better in by) for card in those)


def _tell(one: Curve, other: Curve, ours: Sequence[ReportCard], theirs: Sequence[ReportCard]) -> str:
    worse, better = count_dominated(theirs, ours), count_dominated(ours, theirs)
    if not worse and not better:
        return f"Neither {one.name} nor {other.name} dominates a setting of the other"
    return (
        f"{one.name} dominates {worse} of {len(theirs)} settings of {other.name}, and {other.name} {better} "
        f"of {len(ours)} of {one.name}"
    )


def _range(rates: Sequence[Rate]) -> str:
    low, high = (100 * end(rate.value for rate in rates) for end in (min, max))
    return f"{low:.1f} to {high:.1f} %"
