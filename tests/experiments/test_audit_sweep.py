"""Do all settings of a sweep share their rows, and are knobs that do not exist refused?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.experiments.audit_sets import audit_sets
from unalike.experiments.audit_sweep import read_knobs, share_rows
from unalike.experiments.config import make_experiment

BASE = make_experiment({"samples": 120, "clients": 3, "model": "linear"})


def test_methods_with_and_without_reference_rows_train_on_the_same_training_rows():
    rows = share_rows(BASE, read_knobs(BASE, ["werm.weight=0,1", "rounds=2"]), None)
    found = audit_sets(rows.whole, 0.5)
    assert np.array_equal(found.federation.train.x, rows.training.train.x)
    assert np.array_equal(found.reference.x, rows.reference.x)
    assert np.array_equal(rows.whole.test.x, rows.training.test.x)


def test_without_such_methods_nothing_is_taken_from_training():
    rows = share_rows(BASE, read_knobs(BASE, ["rounds=2,3"]), "none")
    assert rows.training is rows.whole
    assert rows.reference == "none"


def test_a_knob_is_an_option_a_setting_or_a_defense():
    found = read_knobs(BASE, ["adv-reg.lam=0,3", "adv-reg.lam=3,5", "rounds=2", "werm.memguard=1"])
    lams = [point.experiment.options["lam"] for point in found["adv-reg lam"]]
    assert lams == [0, 3, 5]
    assert found["fedavg rounds"][0].experiment.rounds == 2
    assert found["werm memguard"][0].defense == "memguard:1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("werm.wieght=1", "did you mean 'weight'"),
        ("wrm.weight=1", "did you mean 'werm'"),
        ("weight", "names no values"),
        ("seed=1,2", "cannot be varied"),
        ("werm.reference_fraction=0.1", "cannot be varied"),
        ("werm.weight=2", "between 0 and 1"),
        ("memguard=7", "between 0 and 2"),
    ],
)
def test_nonsense_is_one_sentence(words, said):
    with pytest.raises(ConfigError, match=said):
        read_knobs(BASE, [words])


def test_other_reference_rows_are_refused_where_a_method_has_its_own():
    with pytest.raises(ConfigError, match="leave out --reference validation"):
        share_rows(BASE, read_knobs(BASE, ["werm.weight=1"]), "validation")


def test_a_shift_changes_reference_rows_only_and_by_as_much_as_it_says():
    knobs = read_knobs(BASE, ["werm.weight=0,1"])
    plain, shifted = (share_rows(BASE, knobs, None, shift) for shift in (0.0, 0.5))
    for part in ("validation", "test"):
        one, other = (getattr(rows.whole, part).x for rows in (plain, shifted))
        np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(plain.training.train.x, shifted.training.train.x)
    moved = shifted.reference.x - plain.reference.x
    spread = plain.whole.train.x.std(axis=0)
    assert np.array_equal(plain.reference.y, shifted.reference.y)
    assert (moved[:, spread == 0] == 0).all()
    assert 0.4 < (moved[:, spread > 0] / spread[spread > 0]).std() < 0.6
    again = share_rows(BASE, knobs, None, 0.5)
    assert np.array_equal(again.whole.train.x, shifted.whole.train.x)
    with pytest.raises(ConfigError, match="leave out the regime shifted"):
        share_rows(BASE, read_knobs(BASE, ["rounds=2"]), None, 1.0)
