"""Claims by regime of reference data: is WERM ahead of its rivals where reference rows are public, as private
as training rows, hardly leak, or are of another distribution?

In a regime one leakage counts (see `unalike.privacy.audit.regimes`). At the leakage of every setting of a
rival that no other setting of the rival beats, WERM is as useful as its best setting that leaks no more, with
straight lines between settings. Settings of WERM are weights and passes: the published program stops early,
too, and has that as a curve of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unalike.privacy.audit.curves import Curve
from unalike.privacy.audit.regimes import EQUAL, PRIVATE, PUBLIC, SHIFTED
from unalike.privacy.audit.report_card import ReportCard
from unalike.typing import Keywords

from ..study import Claim, average
from .audits import Draw, attack_draws

HARDLY = 55.0
"""Reference leakage, in per cent, that still counts as near guessing (agreed on before measuring)."""
TEXT = "section 1.6.1"
"""Where findings are described."""
IDS = {PUBLIC: "R1", EQUAL: "R2", PRIVATE: "P6", SHIFTED: "R3"}
FINDING = "WERM best in nearly all privacy regimes"
EARLY = "early stopping"


class Setting(NamedTuple):
    """Three metrics, in per cent."""

    utility: float
    training: float
    reference: float


class Contest(NamedTuple):
    """WERM's settings on one draw, and those of its rivals."""

    ours: Sequence[Setting]
    rivals: Mapping[str, Sequence[Setting]]

    def against(self, rival: str) -> Sequence[Setting]:
        """WERM's settings without those that are the rival's, too."""
        own = set(self.rivals[EARLY]) if rival == EARLY else set()
        return [one for one in self.ours if one not in own]


def regime_claims(quick: bool = False) -> Iterator[Claim]:
    """WERM against every rival in all regimes but that of shifted rows, which need trainings of their own."""
    contests = [contest(draw) for draw in attack_draws(quick)]
    for regime in (PUBLIC, EQUAL, PRIVATE):
        yield from compared_claims(regime, contests)


def contest(draw: Draw) -> Contest:
    """The settings of one draw. Stopping early with all weight on training rows uses no reference rows, so it
    is a setting of WERM and, by itself, a rival of the others."""
    ours = [one for curve in (draw.werm, draw.stopped, draw.shared) for one in settings_of(curve)]
    rivals = {"AdvReg": draw.adv_reg, "AdvReg-RT": draw.adv_reg_rt, "MMD": draw.mmd, EARLY: draw.stopped}
    return Contest(ours, {name: settings_of(curve) for name, curve in rivals.items()})


def settings_of(curve: Curve) -> list[Setting]:
    """The three metrics of every setting of a curve."""
    return [metrics(card) for card in curve.cards]


def metrics(card: ReportCard) -> Setting:
    """The three metrics of a card, in per cent."""
    reference = 0.5 if card.reference is None else card.reference.accuracy.value
    return Setting(100 * card.utility.value, 100 * card.training.accuracy.value, 100 * reference)


def compared_claims(regime: str, contests: Sequence[Contest], note: str = "") -> Iterator[Claim]:
    """WERM's gain over every rival in one regime, a mean over settings and draws.

    Args:
        regime: which leakage counts.
        contests: settings, a contest for each draw.
        note: what is less than was published.
    """
    for rival in contests[0].rivals:
        if rival == EARLY and regime == PRIVATE:
            continue  # it is the same method there: all weight on training rows
        found = [gains(one.against(rival), one.rivals[rival], regime) for one in contests]
        values = [gain for gained, _ in found for gain in gained]
        beyond = sum(missed for _, missed in found)
        words = f"{regime} reference rows: points of accuracy of WERM above {rival} at equal leakage, mean"
        if not values:
            told = f"no setting of {rival} leaks as little of the reference rows as is allowed"
            if beyond:
                told = f"all settings of {rival} leak less than any of WERM"
            shown: Keywords = {"note": note, "published": FINDING, "place": TEXT, "hard": False}
            yield Claim(IDS[regime], words, expected=">= 0", measured=told, holds=not beyond, **shown)
            continue
        told = f"{len(values)} settings of {rival}"
        told += f", {beyond} more leak less than any of WERM" if beyond else ""
        told += f"; the least gain is {min(values):.1f}"
        said = f"{told}; {note}" if note else told
        hard = regime == PUBLIC and rival == "AdvReg" and not note
        yield average(
            *(IDS[regime], words, values, 0.0),
            hard=hard,
            published=FINDING,
            place=TEXT,
            note=said,
        )


def gains(ours: Sequence[Setting], theirs: Sequence[Setting], regime: str) -> tuple[list[float], int]:
    """How much more accurate we are at the leakage of every setting of theirs that none of theirs beats, and
    how many of these leak less than any of ours."""
    own, other = frontier(ours, regime), frontier(theirs, regime)
    if not own:
        return [], len(other)
    leakages, utilities = zip(*own, strict=True)
    inside = [(leak, utility) for leak, utility in other if leak >= leakages[0]]
    found = [float(np.interp(leak, leakages, utilities)) - utility for leak, utility in inside]
    return found, len(other) - len(inside)


def frontier(settings: Sequence[Setting], regime: str) -> list[tuple[float, float]]:
    """Leakage and utility of the settings that no other beats in both, by leakage."""
    found: list[tuple[float, float]] = []
    points = [(counted(one, regime), one.utility) for one in settings]
    allowed = [(leak, utility) for leak, utility in points if leak is not None]
    for leak, utility in sorted(allowed, key=lambda point: (point[0], -point[1])):
        if not found or utility > found[-1][1]:
            found.append((leak, utility))
    return found


def counted(setting: Setting, regime: str) -> float | None:
    """The leakage that counts; None where the setting is not allowed."""
    if regime == EQUAL:
        return max(setting.training, setting.reference)
    if regime == PRIVATE and setting.reference > HARDLY:
        return None
    return setting.training
