"""Claims on WERM, and on attacks: leakage when one set counts more than the other.

Each set is judged against non-members of its own, by the audit that users have. Accuracies are in per cent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unalike.privacy.audit.leakage import AttackResult, Leakage
from unalike.privacy.audit.report_card import ReportCard

from ..study import Claim, at_least, at_most, average, in_order
from .audits import EQUAL, WEIGHTS, Draw, attack_draws

OFFLINE = "lira offline"


def training_claims(quick: bool = False) -> Iterator[Claim]:
    """P1 to P3, P5, and what attacks with reference models gain."""
    draws = attack_draws(quick)
    yield from order_claims(draws)
    yield from endpoint_claims(draws)
    yield utility_claim(draws)
    yield gap_claim(draws)
    yield from strength_claims(draws)
    yield shift_claim(draws)


def order_claims(draws: Sequence[Draw]) -> Iterator[Claim]:
    """Training rows leak more with the weight, reference rows less, and both alike where they weigh alike."""
    slack = 2.0
    note = f"weights {', '.join(map(str, WEIGHTS))}; attack: {OFFLINE}; means over {len(draws)} draws"
    own, other = (_means(draws, reference) for reference in (False, True))
    words = "per cent of {} rows and others told apart, by the training set's weight"
    yield in_order("P1", words.format("training"), own, slack, note=note)
    backwards = f"{words.format('reference')}, from one to zero"
    yield in_order("P1", backwards, other[::-1], slack, note=note)
    middle = [draw.werm.cards[WEIGHTS.index(EQUAL)] for draw in draws]
    apart = [abs(attack_accuracy(card.training) - attack_accuracy(_reference(card))) for card in middle]
    bound = 100 * 2 * _deviation(draws[0])
    words = "points between both leakages where the sets weigh alike"
    how = "equal but for two deviations of a difference"
    yield at_most("P1", words, apart, round(bound, 2), derivation=how)


def endpoint_claims(draws: Sequence[Draw]) -> Iterator[Claim]:
    """A set that counts nothing is not in the model: intervals of the strongest attack contain guessing."""
    ends = {
        "reference rows at w = 1": [_reference(draw.werm.cards[-1]) for draw in draws],
        "training rows at w = 0": [draw.werm.cards[0].training for draw in draws],
    }
    for name, parts in ends.items():
        away = [100 * (part.accuracy.low - 0.5) for part in parts]
        note = "; ".join(str(part.accuracy) for part in parts)
        words = f"{name}: points by which the strongest attack's interval is above guessing"
        yield at_most("P2", words, away, 0.0, note=note, derivation="such rows are in no model")


def utility_claim(draws: Sequence[Draw]) -> Claim:
    """Both sets together are better than one."""
    found = [[100 * card.utility.value for card in draw.werm.cards] for draw in draws]
    gains = [max(values[1:-1]) - max(values[0], values[-1]) for values in found]
    note = "accuracies " + ", ".join(f"{value:.1f}" for value in np.mean(found, 0))
    words = "points of accuracy of the best weight between zero and one above both ends"
    return at_least("P3", words, gains, 0.0, note=note)


def gap_claim(draws: Sequence[Draw]) -> Claim:
    """The gap attack on a balanced set is half of the gap of all rows above guessing."""
    far = [
        abs(attack_accuracy(card.training, "gap") / 100 - 0.5 - gap / 2)
        for draw in draws
        for card, gap in zip(draw.werm.cards, draw.gaps, strict=True)
    ]
    bound = 3 * _deviation(draws[0]) / np.sqrt(2)
    words = "gap attack against 1/2 + (training - test accuracy) / 2, all weights"
    return at_most("P5", words, far, round(bound, 4), note="three deviations of a rate")


def strength_claims(draws: Sequence[Draw]) -> Iterator[Claim]:
    """Models that were trained without a row tell how hard it is; a threshold for all rows does not."""
    last = [draw.werm.cards[-1].training for draw in draws]
    few = [_tpr(part, "lira") - _tpr(part, "loss") for part in last]
    note = f"{_tpr(last[0], 'lira'):.1f} and {_tpr(last[0], 'loss'):.1f} in the first draw"
    words = "points of true positives at 1 % false alarms of LiRA above those of the loss, at w = 1"
    yield average("A1", words, few, 0.0, note=note)
    for attack, name in (("lira", "LiRA"), (OFFLINE, "LiRA (offline)")):
        gains = [result(part, attack).auc - result(part, "loss").auc for part in last]
        areas = (result(last[0], one).auc for one in (attack, "loss"))
        note = "areas {:.3f} and {:.3f} in the first draw".format(*areas)
        words = f"area under the curve of {name} above that of the loss, at w = 1"
        yield average("A2", words, gains, 0.0, hard=False, note=note)


def shift_claim(draws: Sequence[Draw]) -> Claim:
    """Without a model nobody is recognized: the sets are drawn alike."""
    found = []
    for draw in draws:
        control = draw.werm.cards[-1].training.shift
        assert control is not None, "there are hundreds of rows."
        found.append(100 * (control.accuracy.low - 0.5))
    words = "points by which the interval of a classifier without a model is above guessing"
    return at_most("A3", words, found, 0.0)


def attack_accuracy(part: Leakage, attack: str = OFFLINE) -> float:
    """How often one attack is right, in per cent."""
    return 100 * result(part, attack).accuracy.value


def result(part: Leakage, attack: str) -> AttackResult:
    """What one attack has reached."""
    return next(one for one in part.attacks if one.attack == attack)


def _means(draws: Sequence[Draw], reference: bool) -> list[float]:
    """By weight, how often the attack is right on a set, on average over draws."""
    parts = [[_reference(c) if reference else c.training for c in draw.werm.cards] for draw in draws]
    means: list[float] = np.mean([[attack_accuracy(part) for part in line] for line in parts], 0).tolist()
    return means


def _reference(card: ReportCard) -> Leakage:
    assert card.reference is not None, "WERM has reference rows."
    return card.reference


def _deviation(draw: Draw) -> float:
    """Of a difference of two rates of one half, each of as many rows as the attack set."""
    return float(np.sqrt(2 * 0.25 / draw.werm.cards[0].training.rows))


def _tpr(part: Leakage, attack: str) -> float:
    found = result(part, attack).tpr[0.01]
    return float("nan") if found is None else 100 * found.value
