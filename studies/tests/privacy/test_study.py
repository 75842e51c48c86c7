"""Are the models of the study those of the methods, and would claims that do not hold be caught?"""

import numpy as np
import pytest

from unalike.data.sources.purchase_like import draw_baskets
from unalike.privacy.audit.attack_sets import AttackSet
from unalike.privacy.audit.curves import Curve
from unalike.privacy.audit.leakage import measure_leakage
from unalike.privacy.audit.membership_inference import Verdict
from unalike.privacy.audit.regimes import EQUAL, PRIVATE, PUBLIC
from unalike.privacy.audit.report_card import ReportCard
from unalike.privacy.audit.statistics import clopper_pearson
from unalike_studies.privacy import audits, defenses, regimes, theory, training
from unalike_studies.privacy.data import Sizes

ROWS = 2000
TRUE = {"werm": [(57, 50, 87), (68, 79, 86), (68, 83, 83), (68, 84, 81), (68, 86, 79)]}
TRUE["werm"] += [(60, 86, 60), (57, 87, 50)]
TRUE["adv_reg"] = [(57, 87, 50), (45, 80, 50), (35, 72, 50), (28, 66, 50)]
TRUE["adv_reg_rt"] = [(60, 83, 83), (58, 83, 83)]
TRUE["mmd"] = [(57, 87, 50), (40, 76, 50), (20, 65, 50)]
TRUE["stopped"] = [(33, 66, 50), (48, 80, 50), (55, 86, 50)]
TRUE["shared"] = [(45, 60, 60), (58, 70, 70), (66, 78, 78)]
"""Utility, training and reference leakage as published findings have it, by setting."""


def leakage(what, told):
    """A set of which every attack tells so many per cent rightly."""
    member, right = np.arange(ROWS) % 2 == 0, np.arange(ROWS) < told / 100 * ROWS
    guess = np.where(right, member, ~member)
    verdicts = [Verdict(name, guess.astype(float), guess) for name in ("gap", "lira offline")]
    return measure_leakage(
        what, verdicts, AttackSet(np.arange(ROWS), member), np.zeros(ROWS, int), ["a"], None
    )


def made(**changed):
    """A draw with these metrics in place of the true ones."""
    curves = {}
    for name, settings in (TRUE | changed).items():
        cards = [
            ReportCard("accuracy", clopper_pearson(10 * u, 1000), leakage("training", t), leakage("ref", r))
            for u, t, r in settings
        ]
        curves[name] = Curve(name, tuple(map(str, range(len(cards)))), tuple(cards))
    gaps = tuple((t - 50) / 50 for _, t, _ in (TRUE | changed)["werm"])
    return audits.Draw(**curves, gaps=gaps, private=None)


def broken(claims):
    return {claim.id for claim in claims if not claim.holds}


def claims_of(draw):
    yield from training.order_claims([draw])
    yield from training.endpoint_claims([draw])
    yield training.utility_claim([draw])
    yield training.gap_claim([draw])
    yield from defenses.knob_claims([draw])
    for regime in (PUBLIC, EQUAL, PRIVATE):
        yield from regimes.compared_claims(regime, [regimes.contest(draw)])
    yield from defenses.seeming_claims([draw])
    yield from defenses.noise_claims([draw])


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, set()),
        ({"werm": TRUE["werm"][::-1]}, {"P1", "P2"}),
        ({"werm": [TRUE["werm"][2]] * 7}, {"P2"}),  # a weight that does nothing
        ({"werm": [(57, t, r) for _, t, r in TRUE["werm"][:6]] + [(60, 87, 50)]}, {"P3"}),
        ({"adv_reg": [(57, 87, 50)] * 4}, {"P4"}),  # a weight that moves nothing
        ({"adv_reg": [*TRUE["adv_reg"][:3], (28, 66, 70)]}, {"P4"}),  # one that leaks the reference set
        ({"adv_reg": [(57, 87, 50), (56, 70, 50), (56, 68, 50), (56, 66, 50)]}, {"P6"}),  # a cheap defense
        ({"adv_reg_rt": [(68, 83, 50), (68, 83, 50)]}, {"F1", "P6"}),  # one that dominates in all three
    ],
)
def test_a_claim_that_does_not_hold_is_caught(changed, wrong):
    assert broken(claims_of(made(**changed))) == wrong


def test_a_gap_that_is_another_is_caught():
    draw = made()
    object.__setattr__(draw, "gaps", tuple(gap + 0.2 for gap in draw.gaps))
    assert not training.gap_claim([draw]).holds


def test_a_draw_attacks_the_method_s_own_reference_rows(monkeypatch):
    for name, values in {"WEIGHTS": (1.0,), "LAMS": (), "RT_LAMS": (), "MMD_LAMS": (), "STOPPED": ()}.items():
        monkeypatch.setattr(audits, name, values)
    monkeypatch.setattr(audits, "MODELS", 4)
    drawn = audits.attack_draw(Sizes(60, 120, 3, 4), seed=0, passes=8)
    card = drawn.werm.cards[0]
    assert card.facts["members"] == card.facts["reference_rows"] == 60
    assert card.facts["non_members"] == 120
    assert training.attack_accuracy(card.training, "gap") / 100 - 0.5 == pytest.approx(
        drawn.gaps[0] / 2, abs=0.1
    )


def test_the_claims_on_epsilon_hold_and_a_bound_without_its_margin_would_be_caught(monkeypatch):
    assert broken(theory.theory_claims(quick=True)) == set()
    right = theory.epsilon_lower_bound

    def without_margin(*given, **rest):
        return right(*given, **{**rest, "level": 0.5})

    monkeypatch.setattr(theory, "epsilon_lower_bound", without_margin)
    assert broken(theory.theory_claims(quick=True)) == {"E1"}


def test_baskets_are_binary_and_their_classes_can_be_learned():
    x, y = draw_baskets(600, 5, 3)
    means = np.stack([x[:300][y[:300] == k].mean(0) for k in range(5)])
    nearest = ((x[300:, None] - means) ** 2).sum(-1).argmin(1)
    assert (nearest == y[300:]).mean() > 0.6
