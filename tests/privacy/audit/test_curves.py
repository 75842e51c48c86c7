"""Are defenses compared by all that their knobs do?"""

from unalike.privacy.audit.curves import Curve, check_curve, count_dominated, say_curves, say_pair, tabulate

from .test_tradeoff import card


def curve(name, *settings):
    return Curve(name, tuple(map(str, range(len(settings)))), tuple(card(*one) for one in settings))


PLAIN = curve("plain", (0.6, 0.9, 0.5), (0.5, 0.7, 0.5))
TRADING = curve("trading", (0.8, 0.7, 0.9), (0.7, 0.6, 0.9))


def test_what_dominates_without_reference_leakage_is_said_to_seem_so():
    said = say_pair(PLAIN, TRADING)
    assert said.startswith(
        "Neither plain nor trading dominates a setting of the other; by utility and training"
    )
    assert "trading 2 of 2 of plain" in said


def test_dominated_settings_are_counted_and_named():
    better = curve("better", (0.9, 0.6, 0.5))
    assert count_dominated(PLAIN.cards, better.cards) == 2
    assert say_pair(better, PLAIN).startswith("better dominates 2 of 2 settings of plain, and plain 0 of 1")
    assert [line["dominated by"] for line in tabulate([better, PLAIN])][1] == "better 0"


def test_a_knob_that_leaves_reference_leakage_alone_is_warned_of():
    assert "moves training leakage" in check_curve(PLAIN)
    assert "moves neither" in check_curve(curve("still", (0.6, 0.6, 0.5), (0.6, 0.6, 0.5)))
    assert check_curve(curve("werm", (0.6, 0.9, 0.5), (0.6, 0.5, 0.9))) is None
    assert check_curve(curve("without", (0.6, 0.9), (0.6, 0.5))) is None
    assert len(say_curves([PLAIN, TRADING])) == 3
