"""Claims on AdvReg, AdvReg-RT and DP-SGD, against WERM.

AdvReg can lower training leakage, at the price of utility, but cannot use reference rows any more than to
train its attacker. Who is better where is claimed by regime of reference data (`regimes.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from unalike.privacy.audit.curves import Curve, count_dominated
from unalike.privacy.audit.report_card import ReportCard

from ..study import Claim, at_least, at_most, in_order
from .audits import LAMS, Draw, attack_draws
from .regimes import HARDLY, TEXT, metrics


def defense_claims(quick: bool = False) -> Iterator[Claim]:
    """P4, what AdvReg-RT seems to do, and DP-SGD's epsilon."""
    draws = attack_draws(quick)
    yield from knob_claims(draws)
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


def _points_apart(curve: Curve) -> float:
    rates = [card.training.accuracy for card in curve.cards]
    return 100 * (max(rate.low for rate in rates) - min(rate.high for rate in rates))


def _select_cards(curve: Curve, blind: bool) -> list[ReportCard]:
    return [replace(card, reference=None) if blind else card for card in curve.cards]
