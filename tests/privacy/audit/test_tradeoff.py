"""Is a model called better only if it is better in all that counts?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.privacy.audit.attack_sets import AttackSet
from unalike.privacy.audit.leakage import measure_leakage
from unalike.privacy.audit.membership_inference import Verdict
from unalike.privacy.audit.report_card import ReportCard
from unalike.privacy.audit.statistics import clopper_pearson
from unalike.privacy.audit.tradeoff import check_knob, compare_cards, dominates, say_dominance, undominated

ROWS = 400


def leakage(what, share):
    """A set of which so many rows are told rightly."""
    member, right = np.arange(ROWS) % 2 == 0, np.arange(ROWS) < share * ROWS
    verdict = Verdict("made up", member.astype(float), np.where(right, member, ~member))
    return measure_leakage(
        what, [verdict], AttackSet(np.arange(ROWS), member), np.zeros(ROWS, int), ["a"], None
    )


def card(utility, training, reference=None):
    return ReportCard(
        "accuracy",
        clopper_pearson(round(100 * utility), 100),
        leakage("training", training),
        None if reference is None else leakage("reference", reference),
    )


def test_a_third_metric_takes_back_a_dominance():
    """What dominates on two metrics by leaking the reference set does not on three."""
    plain, trading = card(0.7, 0.8, 0.5), card(0.75, 0.7, 0.8)
    without = [replace(one, reference=None) for one in (plain, trading)]
    assert dominates(without[1], without[0])
    assert not dominates(trading, plain)
    assert undominated({"plain": plain, "trading": trading}) == ["plain", "trading"]


def test_dominance_is_a_strict_order():
    cards = [card(u, t, r) for u in (0.5, 0.7) for t in (0.5, 0.8) for r in (0.5, 0.8)]
    for a in cards:
        assert not dominates(a, a)
        for b in cards:
            assert not (dominates(a, b) and dominates(b, a))
            assert all(dominates(a, c) for c in cards if dominates(a, b) and dominates(b, c))


def test_a_smaller_loss_is_better():
    better, worse = (replace(card(u, 0.6), utility_name="loss") for u in (0.2, 0.4))
    assert dominates(better, worse)


def test_the_table_names_who_dominates():
    lines = compare_cards({"a": card(0.7, 0.6, 0.5), "b": card(0.6, 0.8, 0.5)})
    assert [line["dominated by"] for line in lines] == ["–", "a"]
    assert set(lines[0]) == {"run", "utility", "training leakage", "reference leakage", "dominated by"}


@pytest.mark.parametrize(
    ("settings", "odd"),
    [
        ([(0.9, 0.5), (0.6, 0.5)], True),  # only training leakage moves
        ([(0.9, 0.5), (0.6, 0.9)], False),  # one is traded for the other
        ([(0.6, 0.5), (0.6, 0.5)], False),  # nothing moves
        ([(0.9, None), (0.6, None)], False),
    ],
)
def test_a_knob_that_leaves_reference_leakage_alone_is_noticed(settings, odd):
    assert (check_knob([card(0.7, *pair) for pair in settings]) is not None) == odd


def test_luck_around_guessing_decides_nothing_and_neither_do_overlapping_intervals():
    better, lucky = card(0.7, 0.6, 0.51), card(0.7, 0.8, 0.49)
    assert dominates(better, lucky)
    assert not dominates(card(0.71, 0.6, 0.5), card(0.7, 0.61, 0.5))


def test_dominance_is_said_in_one_sentence():
    assert say_dominance({"a": card(0.7, 0.6), "b": card(0.6, 0.8)}).endswith("in one: b; not: a.")
    assert say_dominance({"a": card(0.7, 0.6)}).startswith("None dominates another")
