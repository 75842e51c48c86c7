"""Who leaks when one set counts more than the other?  (Claims on leakage that need training.)

Models of several weights between training and reference rows are attacked with reference models that were
trained on halves of all rows; each set is judged against other non-members. Accuracies are in per cent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...algorithms import Optimizer
from ...experiments.audit_references import References, draw_halves, train_cohort
from ...experiments.audit_rows import OTHERS, REFERENCE, TRAINING, AuditRows
from ...models import Task
from ...privacy.audit.attack_sets import AttackSet, balance
from ...privacy.audit.attacks import Evidence, Verdict, run_attacks
from ...privacy.audit.leakage import Leakage, measure_leakage
from ...privacy.audit.signals import Signals
from ...typing import Bools, Int64s
from ..study import Claim, at_least, at_most, average, in_order
from .data import FULL, QUICK, study_rows, study_task
from .weighted_rows import train_weighted

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
MODELS = 8
PASSES = 40
OPTIMIZER = Optimizer("sgd", 0.1)
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Attacked:
    """One draw of the rows, its models and what attacks make of them."""

    rows: AuditRows
    task: Task
    models: tuple[Signals, ...]
    """By weight."""
    references: References

    @cached_property
    def verdicts(self) -> list[list[Verdict]]:
        """What every attack says, by weight."""
        return [run_attacks(self.evidence(model)) for model in self.models]

    def evidence(self, model: Signals) -> Evidence:
        """What an attacker of one model has."""
        found, labels = self.references, self.rows.classes(self.task)
        return Evidence(model, found.signals, found.inside, labels, self.rows.of(OTHERS))

    @cached_property
    def sets(self) -> dict[int, AttackSet]:
        """Members and non-members of each set; the two sets share no non-member."""
        others = self.rows.of(OTHERS)
        halves = {TRAINING: others[::2], REFERENCE: others[1::2]}
        return {kind: self._balanced(self.rows.of(kind), half) for kind, half in halves.items()}

    def _balanced(self, members: Int64s, others: Int64s) -> AttackSet:
        places = np.concatenate([members, others])
        member = np.arange(len(places)) < len(members)
        chosen = balance(member, {"class": self.rows.y[places]})
        return AttackSet(places[chosen.rows], chosen.member)

    @cached_property
    def leakage(self) -> dict[int, list[Leakage]]:
        """Of each set, by weight."""
        return {
            kind: [
                measure_leakage("rows", found, chosen, self.rows.owners, ["all"], None)
                for found in self.verdicts
            ]
            for kind, chosen in self.sets.items()
        }

    def accuracy(self, kind: int, attack: str = "lira offline") -> list[float]:
        """How often one attack is right on a set, by weight, in per cent."""
        chosen = self.sets[kind]
        return [
            100 * next(one for one in found if one.attack == attack).accuracy(*chosen).value
            for found in self.verdicts
        ]

    @property
    def utility(self) -> list[float]:
        """Accuracy on other rows, by weight, in per cent."""
        return [100 * float(_correct(model)[self.rows.of(OTHERS)].mean()) for model in self.models]


def _correct(model: Signals) -> Bools:
    assert model.correct is not None
    return model.correct


def attack_draw(quick: bool, seed: int) -> Attacked:
    """Draw rows, train models of all weights and reference models, and attack."""
    sizes = QUICK if quick else FULL
    rows, task = study_rows(sizes, seed), study_task(sizes)
    models = train_weighted(task, rows, WEIGHTS, PASSES, OPTIMIZER, seed)
    pooled = models[len(WEIGHTS) // 2]
    loss = -float(pooled.scores["loss"][rows.of(TRAINING, REFERENCE)].mean())
    inside = draw_halves(rows.owners, MODELS, seed)
    references = train_cohort(task, rows, inside, loss, OPTIMIZER, 32, seed + 1, most=2 * PASSES)
    return Attacked(rows, task, tuple(models), references)


def training_claims(quick: bool) -> Iterator[Claim]:
    """P1 to P3, P5, and what attacks with reference models gain."""
    draws = [attack_draw(quick, seed) for seed in (SEEDS[:1] if quick else SEEDS)]
    yield from order_claims(draws)
    yield from endpoint_claims(draws)
    yield utility_claim(draws)
    yield gap_claim(draws)
    yield from strength_claims(draws)
    yield shift_claim(draws)


def order_claims(draws: Sequence[Attacked]) -> Iterator[Claim]:
    """Training rows leak more with the weight, reference rows less, and both alike where they weigh alike."""
    slack = 2.0
    note = f"weights {', '.join(map(str, WEIGHTS))}; attack: lira offline; means over {len(draws)} draws"
    own, other = (np.mean([draw.accuracy(kind) for draw in draws], 0) for kind in (TRAINING, REFERENCE))
    words = "per cent of {} rows and others told apart, by the training set's weight"
    yield in_order("P1", words.format("training"), own.tolist(), slack, published="increases", note=note)
    falling = other[::-1].tolist()
    yield in_order(
        "P1",
        f"{words.format('reference')}, from one to zero",
        falling,
        slack,
        published="decreases",
        note=note,
    )
    middle = [abs(draw.accuracy(TRAINING)[2] - draw.accuracy(REFERENCE)[2]) for draw in draws]
    bound = 100 * 2 * _deviation(draws[0])
    words = "points between both leakages where the sets weigh alike"
    yield at_most(
        "P1", words, middle, round(bound, 2), published="equal", note="two deviations of a difference"
    )


def endpoint_claims(draws: Sequence[Attacked]) -> Iterator[Claim]:
    """A set that counts nothing is not in the model: intervals of the strongest attack contain guessing."""
    for kind, place, name in (
        (REFERENCE, -1, "reference rows at w = 1"),
        (TRAINING, 0, "training rows at w = 0"),
    ):
        found = [draw.leakage[kind][place].accuracy for draw in draws]
        away = [100 * (rate.low - 0.5) for rate in found]
        note = "; ".join(map(str, found))
        words = f"{name}: points by which the strongest attack's interval is above guessing"
        yield at_most("P2", words, away, 0.0, published="50 %", note=note)


def utility_claim(draws: Sequence[Attacked]) -> Claim:
    """Both sets together are better than one."""
    gains = [max(draw.utility[1:-1]) - max(draw.utility[0], draw.utility[-1]) for draw in draws]
    note = "accuracies " + ", ".join(f"{value:.1f}" for value in np.mean([d.utility for d in draws], 0))
    words = "points of accuracy of the best weight between zero and one above both ends"
    return at_least("P3", words, gains, 0.0, published="some weight", note=note)


def gap_claim(draws: Sequence[Attacked]) -> Claim:
    """The gap attack on a balanced set is half of the gap of all rows above guessing."""
    far = []
    for draw in draws:
        for place, model in enumerate(draw.models):
            right = _correct(model)
            seen, unseen = (right[draw.rows.of(kind)].mean() for kind in (TRAINING, OTHERS))
            far.append(abs(draw.accuracy(TRAINING, "gap")[place] / 100 - 0.5 - (seen - unseen) / 2))
    bound = 3 * _deviation(draws[0]) / np.sqrt(2)
    words = "gap attack against 1/2 + (training - test accuracy) / 2, all weights"
    return at_most("P5", words, far, round(bound, 4), note="three deviations of a rate")


def strength_claims(draws: Sequence[Attacked]) -> Iterator[Claim]:
    """Models that were trained without a row tell how hard it is; a threshold for all rows does not."""
    few = [_tpr(draw, "lira") - _tpr(draw, "loss") for draw in draws]
    note = f"{_tpr(draws[0], 'lira'):.1f} and {_tpr(draws[0], 'loss'):.1f} in the first draw"
    words = "points of true positives at 1 % false alarms of LiRA above those of the loss, at w = 1"
    yield average("A1", words, few, 0.0, published="much larger", note=note)
    for attack, name in (("lira", "LiRA"), ("lira offline", "LiRA (offline)")):
        gains = [_auc(draw, attack) - _auc(draw, "loss") for draw in draws]
        note = f"areas {_auc(draws[0], attack):.3f} and {_auc(draws[0], 'loss'):.3f} in the first draw"
        words = f"area under the curve of {name} above that of the loss, at w = 1"
        yield average("A2", words, gains, 0.0, hard=False, note=note)


def shift_claim(draws: Sequence[Attacked]) -> Claim:
    """Without a model nobody is recognised: the sets are drawn alike."""
    from ...privacy.audit.shift import domain_control

    found = []
    for draw in draws:
        rows, member = draw.sets[TRAINING]
        control = domain_control(draw.rows.x[rows], draw.rows.y[rows], member)
        assert control is not None, "there are hundreds of rows."
        found.append(100 * (control.accuracy.low - 0.5))
    words = "points by which the interval of a classifier without a model is above guessing"
    return at_most("A3", words, found, 0.0)


def _deviation(draw: Attacked) -> float:
    """Of a difference of two rates of one half, each of as many rows as the attack set."""
    return float(np.sqrt(2 * 0.25 / len(draw.sets[TRAINING].rows)))


def _auc(draw: Attacked, attack: str) -> float:
    return next(one for one in draw.leakage[TRAINING][-1].attacks if one.attack == attack).auc


def _tpr(draw: Attacked, attack: str) -> float:
    found = next(one for one in draw.leakage[TRAINING][-1].attacks if one.attack == attack).tpr[0.01]
    return float("nan") if found is None else 100 * found.value
