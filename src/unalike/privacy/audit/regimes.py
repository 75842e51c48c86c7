"""Regimes of reference data: which leakage counts, and which defense is best there?

    public     reference rows are nobody's secret: training leakage alone counts
    equal      a reference row is as private as a training row: the larger of both leakages counts
    private    reference rows may hardly leak: training leakage counts, of settings that tell at most 55 % of
               reference rows from others
    shifted    public, but of another distribution than training rows

A defense is as good, at a level of leakage, as its most useful setting of which no more leaks; the best of
several is certain where its interval has nothing in common with that of the next. It is alone where no other
leaks as little. (What is claimed of
reference data in Kaplan, Xu, Marfoq, Neglia and Santana de Oliveira, "A Cautionary Tale: On the Role of
Reference Data in Empirical Privacy Defenses", 2024, is claimed by regime.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...core.spec import Spec
from ...errors import ConfigError, unknown
from .curves import Curve
from .report_card import ReportCard, show_utility
from .tradeoff import certain, usefulness

PUBLIC, EQUAL, PRIVATE, SHIFTED = REGIMES = ("public", "equal", "private", "shifted")
LEVELS = (0.55, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Leakages that are allowed."""
HARDLY = 0.55
"""Reference leakage of private reference rows, at most."""
DEFAULT_SHIFT = 1.0
"""Standard deviations of noise in shifted reference rows."""


class Regime(NamedTuple):
    """A regime, and by how much reference rows are shifted in it."""

    name: str
    shift: float = 0.0


class Setting(NamedTuple):
    """One setting of one defense."""

    defense: str
    value: str
    card: ReportCard


class Best(NamedTuple):
    """Who is best in a regime at a level of leakage."""

    regime: str
    level: float
    first: Setting | None
    """None where no setting of any defense leaks as little."""
    second: Setting | None
    """The best setting of another defense."""

    @property
    def is_certain(self) -> bool:
        """Whether the intervals of both have nothing in common."""
        if self.first is None or self.second is None:
            return False
        return usefulness(self.first.card).low > usefulness(self.second.card).high

    def as_dict(self) -> dict[str, str]:
        """A line of a table."""
        first, second = (
            ("–", "–") if one is None else (f"{one.defense} {one.value}", show_utility(one.card))
            for one in (self.first, self.second)
        )
        return {
            "regime": self.regime,
            "leakage at most": f"{100 * self.level:g} %",
            "best": first[0],
            "utility": first[1],
            "next": second[0],
            "its utility": second[1],
            "certain": "alone" if self.second is None else "yes" if self.is_certain else "no",
        }


def parse_regimes(text: str) -> list[Regime]:
    """Regimes by their names; that of `shifted` may say by how many standard deviations.

    >>> parse_regimes("public,shifted:0.5")
    [Regime(name='public', shift=0.0), Regime(name='shifted', shift=0.5)]
    """
    found = []
    for word in dict.fromkeys(part.strip() for part in text.split(",") if part.strip()):
        regime = Spec.parse(word)
        if regime.name not in REGIMES or (regime.arguments and regime.name != SHIFTED):
            raise unknown("regime", word, (*REGIMES[:-1], f"{SHIFTED}:{DEFAULT_SHIFT:g}"))
        shift = regime.arguments[0] if regime.arguments else DEFAULT_SHIFT
        if not isinstance(shift, int | float) or not 0 < shift < float("inf"):
            raise ConfigError(f"reference rows are shifted by a number above 0, not by {regime.rest!r}.")
        found.append(Regime(regime.name, float(shift) if regime.name == SHIFTED else 0.0))
    if not found:
        raise ConfigError(f"no regime is given; choose some of {', '.join(REGIMES)}.")
    return found


def counted_leakage(card: ReportCard, regime: str) -> float | None:
    """The leakage that counts in a regime; None where the setting is not allowed in it."""
    own = certain(card.training.accuracy).value
    if regime in (PUBLIC, SHIFTED):
        return own
    if card.reference is None:
        raise ConfigError(f"the regime {regime!r} is about what reference rows leak, but there are none.")
    other = certain(card.reference.accuracy).value
    if regime == EQUAL:
        return max(own, other)
    return own if other <= HARDLY else None


def best_by_level(curves: Sequence[Curve], regime: str, levels: Sequence[float] = LEVELS) -> list[Best]:
    """The best setting of the best defense, and of the next, at every level of leakage.

    Args:
        curves: report cards of every defense.
        regime: which leakage counts.
        levels: how much may leak.
    """
    settings = [Setting(curve.name, *pair) for curve in curves for pair in zip(*curve[1:], strict=True)]
    leakages = [counted_leakage(one.card, regime) for one in settings]
    found = []
    for level in levels:
        allowed = [
            one for one, leak in zip(settings, leakages, strict=True) if leak is not None and leak <= level
        ]
        ranked = sorted(allowed, key=lambda one: -usefulness(one.card).value)
        first = ranked[0] if ranked else None
        others = [one for one in ranked if first is not None and one.defense != first.defense]
        found.append(Best(regime, level, first, others[0] if others else None))
    return found


def tabulate_regimes(found: Mapping[str, Sequence[Best]]) -> list[dict[str, str]]:
    """A line for every regime and level of leakage that some defense reaches."""
    return [best.as_dict() for bests in found.values() for best in bests if best.first is not None]


def say_regimes(found: Mapping[str, Sequence[Best]]) -> list[str]:
    """Who is best in every regime, a sentence each."""
    return [f"{regime}: {_say(bests)}" for regime, bests in found.items()]


def _say(bests: Sequence[Best]) -> str:
    wins = Counter(best.first.defense for best in bests if best.first is not None)
    if not wins:
        return "no setting of any defense leaks as little as is allowed."
    sure = Counter(best.first.defense for best in bests if best.first is not None and best.is_certain)
    total = sum(wins.values())
    parts = [
        f"{name} at {count} of {total} levels of leakage ({sure[name]} for certain)"
        for name, count in wins.most_common()
    ]
    return f"the best is {', and '.join(parts)}."
