"""Claims on AdvReg, AdvReg-RT and DP-SGD, against WERM.

AdvReg can lower training leakage, at the price of utility, but cannot use reference rows any more than to
train its attacker. WERM is compared with it where reference rows hardly leak: with all weight on training
rows, by weights and by passes (stopping early), for its weight alone has one such setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from unalike.privacy.audit.curves import Curve, count_dominated
from unalike.privacy.audit.report_card import ReportCard

from ..study import Claim, at_least, at_most, average, in_order
from .audits import LAMS, Draw, attack_draws

HARDLY = 55.0
"""Reference leakage, in per cent, that still counts as near guessing (agreed on before measuring)."""
TEXT = "section 1.6.1"
"""Where findings are described."""


class Setting(NamedTuple):
    """Three metrics, in per cent."""

    utility: float
    training: float
    reference: float


def defense_claims(quick: bool = False) -> Iterator[Claim]:
    """P4, P6, what AdvReg-RT seems to do, and DP-SGD's epsilon."""
    draws = attack_draws(quick)
    yield from knob_claims(draws)
    yield frontier_claim(draws)
    yield from seeming_claims(draws)
    yield from noise_claims(draws)


def knob_claims(draws: Sequence[Draw]) -> Iterator[Claim]:
    """AdvReg's weight lowers training leakage, and leaves reference leakage near one half."""
    found = [[metrics(card) for card in draw.adv_reg.cards] for draw in draws]
    lams = ", ".join(f"{lam:g}" for lam in LAMS)
    accuracies = ", ".join(f"{one:.1f}" for one in np.mean([[s.utility for s in line] for line in found], 0))
    note = f"lam {lams}; strongest attack; test accuracies {accuracies}"
    leakage = np.mean([[s.training for s in line] for line in found], 0)
    words = "per cent of training rows and others told apart by AdvReg's lam, from the largest"
    yield in_order("P4", words, leakage[::-1].tolist(), 2.0, note=note)
    moved = [_points_apart(draw.adv_reg) for draw in draws]
    words = "points between the intervals of training leakage of two settings of lam"
    yield at_least("P4", words, moved, 0.0, published="lam makes the curve", place=f"{TEXT} and Figure 1.3")
    other = [s.reference for line in found for s in line]
    words = "per cent of reference rows and others told apart, the most over all lam"
    yield at_most("P4", words, other, HARDLY, published="high reference data privacy", place=TEXT)


def frontier_claim(draws: Sequence[Draw]) -> Claim:
    """Where reference rows hardly leak, WERM is as accurate as AdvReg at the same training leakage."""
    gains = [gain for draw in draws for gain in frontier_gains(draw)]
    alone = [sum(metrics(card).reference <= HARDLY for card in draw.werm.cards) for draw in draws]
    note = (
        f"settings with at most {HARDLY:g} % of reference rows told; WERM by weight and passes, between "
        f"settings by straight lines; {len(gains)} settings of AdvReg with lam > 0 are in its range; by "
        f"weight alone {min(alone)} of {len(draws[0].werm.cards)} settings qualify; the least gain is "
        f"{min(gains):.1f}"
        if gains
        else "no setting of AdvReg has a training leakage that WERM reaches"
    )
    words = "points of accuracy of WERM above AdvReg at equal training leakage, mean over settings"
    said, values = "WERM best in nearly all privacy regimes", gains or [float("nan")]
    return average("P6", words, values, 0.0, hard=False, published=said, place=TEXT, note=note)


def frontier_gains(draw: Draw) -> list[float]:
    """For every setting of AdvReg with a weight, how much more accurate WERM is at its training leakage."""
    ours = sorted(_qualified_settings([*draw.werm.cards, *draw.stopped.cards]), key=lambda one: one.training)
    theirs = _qualified_settings(draw.adv_reg.cards[1:])
    if not ours:
        return []
    leakage, utility = [one.training for one in ours], [one.utility for one in ours]
    inside = [one for one in theirs if leakage[0] <= one.training <= leakage[-1]]
    return [float(np.interp(one.training, leakage, utility)) - one.utility for one in inside]


def seeming_claims(draws: Sequence[Draw]) -> Iterator[Claim]:
    """AdvReg-RT dominates AdvReg by two metrics, and not by three."""
    for claim, limit, blind in (
        ("by utility and training leakage alone", 1, True),
        ("in all three", 0, False),
    ):
        counts = [
            float(
                count_dominated(*(_select_cards(curve, blind) for curve in (draw.adv_reg, draw.adv_reg_rt)))
            )
            for draw in draws
        ]
        words = f"settings of AdvReg (of {len(LAMS)}) that AdvReg-RT dominates {claim}"
        check, said = (at_least, "strictly better") if blind else (at_most, "one cannot determine the better")
        place = f"{TEXT} and Figure 1.3, Purchase100"
        yield check("F1", words, counts, limit, hard=False, published=said, place=place)


def noise_claims(draws: Sequence[Draw]) -> Iterator[Claim]:
    """What attacks prove of a row's epsilon is below what the accountant says."""
    for private in (draw.private for draw in draws if draw.private is not None):
        card, note = private.card, "DP-SGD; training leakage " + str(private.card.training.accuracy)
        if private.epsilon is not None:
            words = "lower bound on a row's epsilon by attacks, against the accountant's"
            bound = card.training.epsilon.epsilon
            yield at_most("D1", words, [bound], round(private.epsilon, 4), note=note)


def metrics(card: ReportCard) -> Setting:
    """The three metrics of a card, in per cent."""
    reference = 0.5 if card.reference is None else card.reference.accuracy.value
    return Setting(100 * card.utility.value, 100 * card.training.accuracy.value, 100 * reference)


def _qualified_settings(cards: Sequence[ReportCard]) -> list[Setting]:
    return [one for one in map(metrics, cards) if one.reference <= HARDLY]


def _points_apart(curve: Curve) -> float:
    rates = [card.training.accuracy for card in curve.cards]
    return 100 * (max(rate.low for rate in rates) - min(rate.high for rate in rates))


def _select_cards(curve: Curve, blind: bool) -> list[ReportCard]:
    return [replace(card, reference=None) if blind else card for card in curve.cards]
