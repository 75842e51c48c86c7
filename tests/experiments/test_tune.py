"""Does every method get the same chances, and does nobody look at the test rows?"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import unalike.experiments.tune
from unalike import ConfigError, RunError
from unalike.data import Split
from unalike.experiments.build import make_federation
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.experiments.tune import (
    Trial,
    apply_settings,
    at_the_edge,
    check_choice,
    fairest_first,
    final_federation,
    rank_trials,
    tune,
    with_validation,
)
from unalike.training.newcomers import set_apart

SMALL = {
    **{"data": "digits", "samples": 200, "clients": 5, "partition": "dirichlet:0.3", "model": "linear"},
    **{"rounds": 2, "steps": 2, "devices": 1, "seed": 3},
}


def described(algorithm="fedavg", **values):
    return make_experiment({**SMALL, "algorithm": algorithm, **values})


def rows_of(split, i):
    """A client's rows, in an order of their own."""
    x, y = split.client(i)
    return sorted((*row.ravel().tolist(), int(label)) for row, label in zip(x, y, strict=True))


def test_the_best_at_an_end_of_what_was_tried_is_said():
    trials = [
        Trial("m", {"learning_rate": r, "mu": m}, 0.0) for r, m in ((1.0, 0.1), (0.1, 0.01), (0.5, 1.0))
    ]
    space = {"learning_rate": (0.1, 1.0), "mu": (0.01, 1.0)}
    assert at_the_edge(trials, space) == ["learning_rate 1 is the largest that was tried"]
    assert at_the_edge(trials[1:2] + trials[:1] + trials[2:], space) == [
        "learning_rate 0.1 is the smallest that was tried",
        "mu 0.01 is the smallest that was tried",
    ]


def test_settings_go_where_they_belong():
    experiment = apply_settings(described("ditto", options={"solver": 1}), {"learning_rate": 0.3, "lam": 2.0})
    assert experiment.learning_rate == 0.3
    assert experiment.options == {"solver": 1, "lam": 2.0}


@pytest.mark.parametrize("higher", [True, False])
def test_trials_are_ranked_and_what_failed_comes_last(higher):
    scores = [0.2, math.nan, 0.5, 0.2, 0.1]
    trials = [Trial("m", {"number": i}, score) for i, score in enumerate(scores)]
    order = [trial.settings["number"] for trial in rank_trials(trials, higher)]
    assert order == ([2, 0, 3, 4, 1] if higher else [4, 0, 3, 2, 1])


@pytest.mark.parametrize(("test", "validation", "room"), [(0.2, 0.0, 0.2), (0.8, 0.0, 0.1), (0.2, 0.3, 0.3)])
def test_validation_rows_come_from_the_training_rows(test, validation, room):
    experiment = with_validation(described(test_fraction=test, validation_fraction=validation))
    assert experiment.validation_fraction == pytest.approx(room)


@pytest.mark.parametrize("validation", [0.0, 0.3])
def test_the_best_are_trained_on_all_rows_but_those_of_the_test(validation):
    experiment = described(validation_fraction=validation)
    final, trial = final_federation(experiment), make_federation(with_validation(experiment))
    plain = make_federation(experiment)
    assert len(final.validation.y) == 0
    np.testing.assert_array_equal(final.test.x, trial.test.x)
    np.testing.assert_array_equal(final.test.y, plain.test.y)
    np.testing.assert_array_equal(final.test.x, plain.test.x)
    for i in range(len(final)):
        assert rows_of(final.train, i) == sorted(rows_of(trial.train, i) + rows_of(trial.validation, i))
    np.testing.assert_array_equal(final.train.sizes, trial.train.sizes + trial.validation.sizes)


def test_clients_without_validation_rows_keep_their_training_rows():
    federation = make_federation(described(validation_fraction=0.2))
    nobody = replace(federation, validation=make_federation(described()).validation)
    merged = nobody.with_validation_in_training()
    np.testing.assert_array_equal(merged.train.x, federation.train.x)
    np.testing.assert_array_equal(merged.train.offsets, federation.train.offsets)


def test_scores_are_those_of_a_run_on_validation_rows_whatever_the_test_rows_say(monkeypatch):
    """With every test label replaced the trials are the same, number by number."""
    honest = make_federation(with_validation(described()))
    test = Split(honest.test.x, (honest.test.y + 5) % 10, honest.test.offsets)
    monkeypatch.setattr(unalike.experiments.tune, "make_federation", lambda _: replace(honest, test=test))
    found = tune({"fedavg": described()}, budget=2, rates=(0.05, 0.5))["fedavg"]
    scores = {trial.settings["learning_rate"]: trial.score for trial in found}
    assert len(scores) == 2
    assert found[0].score == max(scores.values())
    best = run_experiment(apply_settings(with_validation(described()), found[0].settings), federation=honest)
    assert best.final()["validation_accuracy"] == found[0].score


def stubbed(monkeypatch, scores):
    """Replace training by a list of scores; what was asked for is kept."""
    asked = []

    def run(experiment, *, federation, **_):
        asked.append((experiment, federation))
        column = np.array([np.nan, scores[len(asked) - 1]])
        each = {"validation_accuracy": column[1:], "validation_samples": np.ones(1)}
        return SimpleNamespace(metrics=lambda: {"validation_accuracy": column}, client_metrics=lambda: each)

    monkeypatch.setattr(unalike.experiments.tune, "run_experiment", run)
    return asked


def test_all_trials_of_all_methods_have_the_same_rows_and_seed(monkeypatch):
    asked = stubbed(monkeypatch, [0.1, 0.3, math.nan, 0.2])
    found = tune({name: described(name) for name in ("fedavg", "ditto")}, budget=2)
    assert len({id(federation) for _, federation in asked}) == 1
    assert {experiment.seed for experiment, _ in asked} == {3}
    assert [trial.score for trial in found["fedavg"]] == [0.3, 0.1]
    assert found["ditto"][0].score == 0.2
    assert math.isnan(found["ditto"][1].score)


def test_without_a_validation_row_there_is_nothing_to_judge_by(monkeypatch):
    asked = stubbed(monkeypatch, [])
    with pytest.raises(ConfigError, match="rows enough for validation"):
        tune({"fedavg": described(samples=5)})
    assert not asked


def test_no_trial_has_a_row_of_a_client_that_joins_after_training(monkeypatch):
    asked = stubbed(monkeypatch, [0.1])
    experiment = described(unseen=0.4)
    tune({"fedavg": experiment}, budget=1)
    unseen = set_apart(final_federation(experiment), 0.4, experiment.seed)[1]
    trained, federation = asked[0]
    if trained.unseen:
        federation = set_apart(federation, trained.unseen, trained.seed)[0]
    theirs = {row for i in range(len(unseen)) for row in rows_of(unseen.train, i)}
    used = {row for i in range(len(federation)) for row in rows_of(federation.train, i)}
    assert not theirs & used


def test_the_fairest_of_those_that_are_nearly_best_is_chosen():
    found = [
        Trial("m", {"number": i}, 0.0, *both) for i, both in enumerate([(0.9, 0.2), (0.89, 0.1), (0.5, 0.0)])
    ]
    chosen = {
        points: fairest_first(found, points, True)[0].settings["number"] for points in (None, 0.0, 2.0, 50.0)
    }
    assert chosen == {None: 0, 0.0: 0, 2.0: 1, 50.0: 2}
    assert sorted(t.settings["number"] for t in fairest_first(found, 2.0, True)) == [0, 1, 2]


def test_fairness_is_compared_with_the_mean_of_fedavg(monkeypatch):
    """Of a method that raises the mean, a fairer trial may be chosen that is as good as FedAvg only."""
    numbers = {"fedavg": [(0.80, 0.30), (0.70, 0.10)], "q-ffl": [(0.95, 0.25), (0.80, 0.05), (0.5, 0.0)]}
    trained = []

    def judged(experiment, federation, task, prune, observer, trial, method, first):
        count = trained.count(method)
        trained.append(method)
        return Trial(method, trial.settings, *(numbers[method][count][k] for k in (0, 0, 1)))

    monkeypatch.setattr("unalike.experiments.tune._train", judged)
    budget, both = 2, {"fedavg": described(), "q-ffl": described("q-ffl")}
    found = tune(both, budget=budget, choose="fairest:1")
    assert {name: trials[0].mean for name, trials in found.items()} == {"fedavg": 0.80, "q-ffl": 0.80}
    trained.clear()
    alone = tune({"q-ffl": described("q-ffl")}, budget=budget, choose="fairest:1")
    assert list(alone) == ["q-ffl"]
    assert (alone["q-ffl"][0].mean, trained.count("fedavg")) == (0.80, budget)
    trained.clear()
    assert tune({"q-ffl": described("q-ffl")}, budget=budget)["q-ffl"][0].mean == 0.95
    assert "fedavg" not in trained


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("ditto", "lam", (0.01, 0.05, 0.1, 0.5, 1, 2, 5)),
        ("q-ffl", "q", (0, 0.001, 0.01, 0.1, 1, 2, 5, 10)),
        ("term", "t", (1, 2, 5)),
    ],
)
def test_values_that_are_tried_are_the_published_ones(name, option, values):
    """Yue, Nouiehed and Kontar (GIFAIR-FL, 2023): what rivals were tuned over."""
    assert unalike.algorithms.algorithm_registry[name].grid[option] == values


def test_spreads_of_trials_are_over_validation_rows_of_clients():
    (trials,) = tune({"gifair": described("gifair")}, budget=2, choose="fairest:100").values()
    assert trials[0].spread == min(trial.spread for trial in trials)
    assert all(0 <= trial.mean <= 1 for trial in trials)


@pytest.mark.parametrize("words", ["fairest:many", "fairest:-1", "fairest:1,2", "best:1", "nicest"])
def test_a_rule_that_does_not_exist_is_refused(words):
    with pytest.raises(ConfigError, match="must be best, or fairest:POINTS"):
        check_choice(words)


def test_settings_that_a_method_refuses_together_are_skipped_and_the_others_go_on():
    found = tune({"fedprox": described("fedprox")}, budget=6, rates=(0.5, 30.0))["fedprox"]
    skipped = [trial for trial in found if trial.skipped]
    too_far = [t for t in found if t.settings["mu"] * t.settings["learning_rate"] >= 1]
    assert len(found) == 6
    assert 0 < len(skipped) < 5
    assert skipped == [t for t in found if t in too_far]
    assert all("must be below 1" in trial.skipped and math.isnan(trial.score) for trial in skipped)
    assert not found[0].skipped


def test_a_first_trial_that_is_refused_ends_the_tuning():
    with pytest.raises(ConfigError, match="must be below 1"):
        tune({"fedprox": described("fedprox", learning_rate=2.0, options={"mu": 1.0})}, budget=2)


def test_a_search_goes_on_after_the_trials_that_are_there(monkeypatch, tmp_path):
    asked = stubbed(monkeypatch, [0.1, 0.3, 0.2])
    first = tune({"fedavg": described()}, budget=2, out=tmp_path)["fedavg"]
    more = tune({"fedavg": described()}, budget=3, out=tmp_path)["fedavg"]
    assert len(asked) == 3
    assert [trial for trial in more if trial.score != 0.2] == first
    assert tune({"fedavg": described()}, budget=3, out=tmp_path)["fedavg"] == more
    with pytest.raises(RunError, match="holds trials of fedavg with rounds 2, not rounds 3"):
        tune({"fedavg": described(rounds=3)}, budget=3, out=tmp_path)
    assert len(asked) == 3


def test_tpe_draws_the_same_trials_whether_or_not_it_was_interrupted(monkeypatch, tmp_path):
    scores = [0.1 * (k % 5) for k in range(6)]
    stubbed(monkeypatch, scores)
    whole = tune({"ditto": described("ditto")}, budget=6, search="tpe")["ditto"]
    for begin, end in ((0, 5), (5, 6)):
        stubbed(monkeypatch, scores[begin:])
        found = tune({"ditto": described("ditto")}, budget=end, search="tpe", out=tmp_path)["ditto"]
    assert found == whole


def test_hopeless_trials_are_given_up_and_never_chosen(monkeypatch):
    """The first four of six are never given up, the fifth is worse than their median, the last better."""
    levels = iter([0.5, 0.6, 0.7, 0.8, 0.1, 0.9])

    def run(experiment, *, observer, **_):
        level = next(levels)
        for round in (1, 2):
            observer(SimpleNamespace(round=round, metrics={"validation_accuracy": level}), 2)
        column = np.array([level])
        each = {"validation_accuracy": column, "validation_samples": np.ones(1)}
        return SimpleNamespace(metrics=lambda: {"validation_accuracy": column}, client_metrics=lambda: each)

    monkeypatch.setattr(unalike.experiments.tune, "run_experiment", run)
    found = tune({"fedavg": described()}, budget=6, prune=True)["fedavg"]
    assert [trial.pruned for trial in found] == [0, 0, 0, 0, 0, 1]
    assert found[0].score == 0.9
    assert math.isnan(found[-1].score)
