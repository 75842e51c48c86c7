"""Is the best defense of every regime found, and does each regime count the leakage that it says?"""

import itertools

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.privacy.audit.curves import Curve
from unalike.privacy.audit.regimes import (
    EQUAL,
    LEVELS,
    PRIVATE,
    PUBLIC,
    REGIMES,
    SHIFTED,
    Regime,
    best_by_level,
    counted_leakage,
    parse_regimes,
    say_regimes,
    tabulate_regimes,
)

from .test_curves import curve
from .test_tradeoff import card


def test_every_regime_counts_its_leakage():
    trading, guarded = card(0.8, 0.7, 0.9), card(0.7, 0.8, 0.52)
    assert [counted_leakage(trading, regime) for regime in REGIMES] == [0.7, 0.9, None, 0.7]
    assert [counted_leakage(guarded, regime) for regime in REGIMES] == [0.8, 0.8, 0.8, 0.8]


def test_who_trades_reference_rows_is_best_only_where_these_are_public():
    trading = curve("trading", (0.8, 0.7, 0.9), (0.75, 0.6, 0.9))
    guarded = curve("guarded", (0.6, 0.7, 0.5), (0.5, 0.58, 0.5))
    by_regime = {regime: best_by_level([guarded, trading], regime, (0.6, 0.8)) for regime in REGIMES[:-1]}
    names = {name: [best.first.defense for best in bests] for name, bests in by_regime.items()}
    assert names == {PUBLIC: ["trading"] * 2, EQUAL: ["guarded"] * 2, PRIVATE: ["guarded"] * 2}
    assert [best.first.value for best in by_regime[PUBLIC]] == ["1", "0"]
    assert by_regime[PUBLIC][0].second.defense == "guarded"
    assert by_regime[EQUAL][0].second is None
    assert all(best.is_certain for best in by_regime[PUBLIC])
    said = say_regimes(by_regime)
    assert said[0] == "public: the best is trading at 2 of 2 levels of leakage (2 for certain)."
    assert by_regime[PUBLIC][0].as_dict()["best"] == "trading 1"
    empty = best_by_level([trading], PRIVATE)
    assert by_regime[EQUAL][0].as_dict()["certain"] == "alone"
    assert empty[0].first is None
    assert not empty[0].is_certain
    assert empty[0].as_dict()["best"] == "–"
    assert tabulate_regimes({PRIVATE: empty}) == []
    assert say_regimes({PRIVATE: empty})[0].startswith("private: no setting of any defense")


@pytest.mark.parametrize("seed", range(5))
def test_the_best_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    curves = []
    for name in "abc":
        points = rng.uniform([0.3, 0.5, 0.5], [0.9, 0.95, 0.95], (4, 3))
        curves.append(Curve(name, tuple("wxyz"), tuple(card(*point) for point in points)))
    for regime, level in itertools.product(REGIMES, LEVELS):
        (best,) = best_by_level(curves, regime, [level])
        allowed = []
        for one in curves:
            for found in one.cards:
                own, other = (
                    part.accuracy.value if part.accuracy.low > 0.5 else 0.5
                    for part in (found.training, found.reference)
                )
                leak = {EQUAL: max(own, other), PRIVATE: own if other <= 0.55 else 2.0}.get(regime, own)
                allowed += [(found.utility.value, one.name)] if leak <= level else []
        expected = max(allowed, default=(None, None))
        assert (best.first and best.first.card.utility.value) == expected[0]
        assert (best.first and best.first.defense) == expected[1]


def test_regimes_are_read_and_others_refused():
    assert parse_regimes("equal, shifted,public") == [Regime(EQUAL), Regime(SHIFTED, 1.0), Regime(PUBLIC)]
    for text, says in (
        ("pubic", "did you mean 'public'"),
        ("public:2", "unknown regime 'public:2'"),
        ("shifted:0", "a number above 0, not by '0'"),
        ("shifted:far", "not by 'far'"),
        (",", "no regime is given"),
    ):
        with pytest.raises(ConfigError, match=says):
            parse_regimes(text)
    with pytest.raises(ConfigError, match="what reference rows leak, but there are none"):
        counted_leakage(card(0.5, 0.6), EQUAL)
