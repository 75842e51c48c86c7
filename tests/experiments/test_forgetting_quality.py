"""Do the measures of forgetting see a client that is there, and miss one that is not?"""

import json

import numpy as np
import pytest

from unalike.experiments.config import make_experiment
from unalike.experiments.forget import forget
from unalike.experiments.forgetting_quality import membership
from unalike.experiments.run import run_experiment
from unalike.trust.unlearning.calibration import Budget

WORDS = {
    "data": "digits",
    "samples": 600,
    "clients": 10,
    "partition": "classes:1",
    "model": "linear",
    "rounds": 30,
    "steps": 5,
    "batch_size": 0,
    "learning_rate": 0.2,
    "unlearning": "full",
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_experiment(make_experiment(WORDS), folder)
    return folder, forget(folder, ["3"], Budget(1, 0.01, 0.02), quality=True).quality


def test_a_class_of_its_own_is_gone_afterwards(measured):
    _, quality = measured
    assert quality["before"]["accuracy"] > 0.8
    assert quality["after"]["accuracy"] < 0.1
    assert quality["after"]["loss"] > quality["before"]["loss"] + 1


def test_relearning_takes_some_rounds(measured):
    _, quality = measured
    assert quality["relearning_rounds"] is None or quality["relearning_rounds"] >= 1


def test_what_was_measured_is_written_and_says_what_was_saved(measured):
    folder, quality = measured
    assert json.loads((folder / "unlearning" / "quality-1.json").read_text()) == quality
    assert quality["rounds_saved"] == 30 - quality["rounds"]
    assert quality["bytes"] > 0


def test_membership_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 40) / 5, rng.integers(0, 6, 30) / 5
    pairs = np.mean([(x < y) + 0.5 * (x == y) for x in a for y in b])
    assert membership(a, b) == pytest.approx(pairs)
    assert np.isnan(membership(a, b[:0]))
