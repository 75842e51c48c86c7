"""Which of several models is better, when three things count?  (Dominance of report cards.)

    a dominates b   if   a is at least as useful, leaks no more of either set, and is better in one of these

By utility and training leakage alone, a defence may look better that has only leaked the reference set
instead; with all three, two models may both stand. Where a defence's knob moves training leakage and leaves
reference leakage as it is, it cannot trade the one for the other, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .report_card import ReportCard
from .statistics import Rate

UNKNOWN = 0.5
"""Leakage of a reference set that there is none of."""


def dominates(one: ReportCard, other: ReportCard) -> bool:
    """Whether a card is at least as good in all three metrics, and better in one."""
    ours, theirs = _goodness(one), _goodness(other)
    return ours != theirs and all(a >= b for a, b in zip(ours, theirs, strict=True))


def undominated(cards: Mapping[str, ReportCard]) -> list[str]:
    """The names of the cards that no other dominates, in their order."""
    return [
        name for name, card in cards.items() if not any(dominates(other, card) for other in cards.values())
    ]


def compare_cards(cards: Mapping[str, ReportCard]) -> list[dict[str, str]]:
    """A line per card: its three metrics, and whether another card is better in all of them."""
    standing = undominated(cards)
    lines = []
    for name, card in cards.items():
        better = [other for other, found in cards.items() if dominates(found, card)]
        shown = {row["metric"].split(" (")[0]: row["measured"] for row in card.rows()}
        lines.append({"run": name, **shown, "dominated by": "–" if name in standing else ", ".join(better)})
    return lines


def check_knob(cards: Sequence[ReportCard]) -> str | None:
    """What to know of a sweep whose reference leakage does not move while its training leakage does; None
    where nothing is odd.  Moving means that two intervals have nothing in common."""
    references = [card.reference.accuracy for card in cards if card.reference is not None]
    moves = _apart([card.training.accuracy for card in cards])
    if len(references) < 2 or not moves or _apart(references):
        return None
    return (
        "Training leakage differs between these runs and reference leakage does not: what was changed cannot "
        "trade the one for the other."
    )


def _goodness(card: ReportCard) -> tuple[float, float, float]:
    """Utility and minus both leakages; of a loss, less is better."""
    utility = card.utility.value if card.utility_name == "accuracy" else -card.utility.value
    reference = UNKNOWN if card.reference is None else card.reference.accuracy.value
    return utility, -card.training.accuracy.value, -reference


def _apart(rates: Sequence[Rate]) -> bool:
    """Whether some two intervals have nothing in common."""
    return max(rate.low for rate in rates) > min(rate.high for rate in rates)
