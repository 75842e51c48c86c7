"""Dominance of report cards: which of several models is better by three criteria?

    a dominates b   if   a is at least as useful, leaks no more of either set, and is better in one of these
                         by more than the intervals of both

A leakage that may be guessing counts as guessing, one half, so that luck around it decides nothing. By
utility and training leakage alone, a defense may look better that has only leaked the reference set instead;
with all three, two models may both stand. What a whole knob can do is in :mod:`.curves`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .report_card import ReportCard
from .statistics import Rate

GUESSING = 0.5
"""Leakage of a reference set that there is none of, and of one of which nothing is certain."""


def dominates(one: ReportCard, other: ReportCard) -> bool:
    """Whether a card is at least as good in all three metrics, and for certain better in one."""
    pairs = list(zip(_goodness(one), _goodness(other), strict=True))
    return all(a.value >= b.value for a, b in pairs) and any(a.low > b.high for a, b in pairs)


def undominated(cards: Mapping[str, ReportCard]) -> list[str]:
    """The names of the cards that no other dominates, in their order."""
    return [
        name for name, card in cards.items() if not any(dominates(other, card) for other in cards.values())
    ]


def compare_cards(cards: Mapping[str, ReportCard]) -> list[dict[str, str]]:
    """A line per card: its three metrics, what both leakages come to where their worth was declared, and
    which other cards dominate it."""
    weighed = any("reference_sensitivity" in card.declared for card in cards.values())
    lines = []
    for name, card in cards.items():
        better = [other for other, found in cards.items() if dominates(found, card)]
        shown = {row["metric"].split(" (")[0]: row["measured"] for row in card.rows()}
        both = card.combined.get("weighted_advantage")
        more = {"weighted advantage": "–" if both is None else f"{both:+.3f}"} if weighed else {}
        lines.append({"run": name, **shown, **more, "dominated by": _first(better)})
    return lines


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else "–"


def say_dominance(cards: Mapping[str, ReportCard]) -> str:
    """Which cards another dominates, in one sentence."""
    beaten = [name for name in cards if name not in undominated(cards)]
    if not beaten:
        return "None dominates another: none is as good in all three metrics and for certain better in one."
    standing = ", ".join(undominated(cards)) or "none"
    return (
        f"Dominated in all three metrics, and beyond intervals in one: {', '.join(beaten)}; not: {standing}."
    )


def check_knob(cards: Sequence[ReportCard]) -> str | None:
    """What to know of a sweep whose reference leakage does not move while its training leakage does; None
    where nothing is odd.  Moving means that two intervals have nothing in common."""
    references = [card.reference.accuracy for card in cards if card.reference is not None]
    moves = moved([card.training.accuracy for card in cards])
    if len(references) < 2 or not moves or moved(references):
        return None
    return (
        "Training leakage differs between these runs and reference leakage does not: what was changed cannot "
        "trade the one for the other."
    )


def moved(rates: Sequence[Rate]) -> bool:
    """Whether some two intervals have nothing in common."""
    return max(rate.low for rate in rates) > min(rate.high for rate in rates)


def _goodness(card: ReportCard) -> tuple[Rate, Rate, Rate]:
    """Utility and minus both leakages, of which more is better; of a loss, less is."""
    nothing = Rate(GUESSING, GUESSING, GUESSING, 0)
    reference = nothing if card.reference is None else card.reference.accuracy
    return usefulness(card), _minus(certain(card.training.accuracy)), _minus(certain(reference))


def usefulness(card: ReportCard) -> Rate:
    """Utility, of which more is better: an accuracy, or minus a loss."""
    return card.utility if card.utility_name == "accuracy" else _minus(card.utility)


def certain(leakage: Rate) -> Rate:
    """A leakage, which is one half where it may be guessing."""
    return leakage if leakage.low > GUESSING else leakage._replace(value=GUESSING)


def _minus(rate: Rate) -> Rate:
    return Rate(-rate.value, -rate.high, -rate.low, rate.rows)
