"""Are trials known again by their numbers, and only by those?"""

import math

import pytest

from unalike import RunError
from unalike.experiments.tuning_study import FIRST_TRIALS, Trial, TuningStudy

SPACE = {"learning_rate": (0.01, 1.0), "components": (2, 3)}


def opened(folder=None, **asked):
    return TuningStudy("m", SPACE, {"rounds": 2, **asked}, folder=folder)


def test_what_came_of_a_trial_is_read_again(tmp_path):
    settings = {"learning_rate": 5.0, "components": 7}  # outside both ranges, as defaults may be
    ended = Trial("m", settings, 0.5, mean=0.4, spread=math.nan)
    opened(tmp_path).begin(0, settings).end(ended)
    again = opened(tmp_path)
    known = again.known(0, settings)
    assert (known.settings, known.score, known.mean, math.isnan(known.spread)) == (settings, 0.5, 0.4, True)
    assert again.known(1, None) is None
    assert again.known(0, {"learning_rate": 0.1, "components": 2}) is None


@pytest.mark.parametrize("found", [{"skipped": "no"}, {"pruned": 3}, {}])
def test_a_trial_without_a_score_is_finished_too(found):
    study = opened()
    ended = Trial("m", {"learning_rate": 0.1}, math.nan, **found)
    study.begin(0, ended.settings).end(ended)
    assert math.isnan(study.known(0, None).score)
    assert study.known(0, None).pruned == ended.pruned


def test_what_was_interrupted_is_not_known_and_what_a_crash_left_in_the_queue_is_not_tried():
    study = opened()
    study.begin(0, {"learning_rate": 0.1}).give_up()
    assert study.known(0, None) is None
    study._study.enqueue_trial({"learning_rate": 0.9})
    assert study.begin(0, {"learning_rate": 0.1}).settings == {"learning_rate": 0.1}


def test_optuna_chooses_within_the_ranges():
    study = opened()
    for number in range(FIRST_TRIALS + 2):
        trial = study.begin(number, None)
        assert 0.01 <= trial.settings["learning_rate"] <= 1.0
        assert trial.settings["components"] in (2, 3)
        trial.end(Trial("m", trial.settings, 0.1 * number))


def test_trials_of_something_else_are_refused(tmp_path):
    opened(tmp_path)
    with pytest.raises(RunError, match="holds trials of m with rounds 2, not rounds 3"):
        opened(tmp_path, rounds=3)
