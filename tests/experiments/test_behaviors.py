"""Do words and files say who is dishonest, and does a run remember it?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.core.pytrees import largest_difference
from unalike.deploy.server import check_servable
from unalike.experiments.build import check
from unalike.experiments.config import Experiment, make_experiment, read_experiment
from unalike.experiments.run import run_experiment
from unalike.runs import RunFolder

SMALL = {
    "samples": 120,
    "clients": 6,
    "model": "linear",
    "rounds": 4,
    "evaluate_every": 2,
    "checkpoint_every": 2,
}


def described(**settings):
    return make_experiment({**SMALL, **settings})


def test_a_file_may_say_how_many_without_quotes(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text('behavior = "free-rider:plain"\ndishonest = 2\n')
    assert read_experiment(path).dishonest == "2"
    path.write_text('behavior = "free-rider:plain"\ndishonest = 0.5\n')
    assert read_experiment(path).dishonest == "0.5"


def test_one_client_is_dishonest_when_nothing_is_said():
    run = run_experiment(described(behavior="sign-flip"))
    assert run.setting.algorithm.dishonest == (5,)
    assert run.setting.algorithm.name == "fedavg"


def test_nobody_is_nobody():
    one = run_experiment(described(behavior="sign-flip", dishonest="0"))
    assert largest_difference(one.state, run_experiment(described()).state) == 0


def test_a_run_is_recorded_and_resumed_to_the_bit(tmp_path):
    settings = {"behavior": "free-rider:decay", "dishonest": "0.34", "per_round": 4}
    whole = run_experiment(described(**settings))
    run_experiment(described(**settings, rounds=2), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    assert (folder.config["behavior"], folder.config["dishonest"]) == ("free-rider:decay", "0.34")
    again = make_experiment(folder.config).model_copy(update={"rounds": 4})
    resumed = run_experiment(again, folder, resume=True)
    assert largest_difference(whole.state, resumed.state) == 0
    assert np.isfinite(resumed.metrics()["honest_test_accuracy"][-1])
    folder.close()


@pytest.mark.parametrize("behavior", ["free-rider:mixture", "label-flip", "inner-product:0.2"])
@pytest.mark.parametrize(
    "settings",
    [{"sampling": "md", "per_round": 3}, {"timing": "fedbuff:2", "hardware": "spread:50"}],
    ids=["sampled", "late"],
)
def test_behaviors_go_with_samplers_and_timings(behavior, settings):
    run = run_experiment(described(behavior=behavior, dishonest="2", **settings))
    assert np.isfinite(run.metrics()["test_loss"][-1])


def test_declared_sizes_reach_the_sampler():
    plain, greedy = "free-rider:plain", "free-rider:plain,1,1,rms,0,10x"
    weights = [
        run_experiment(described(behavior=b, rounds=0)).setting.importance(0)[-1] for b in (plain, greedy)
    ]
    assert weights[1] == pytest.approx(10 / 15)
    assert weights[0] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"dishonest": "2"}, "dishonest = '2' does not say what these clients do"),
        ({"behavior": "free-ryder"}, "did you mean 'free-rider'"),
        ({"behavior": "free-rider:lazy"}, "unknown kind of free-rider"),
        ({"behavior": "sign-flip:0"}, "must be above 0"),
    ],
)
def test_a_mistake_is_found_before_any_data_are_read(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        check(described(data="nowhere-yet", **settings))


def test_too_many_are_refused_before_a_folder_is_made(tmp_path):
    with pytest.raises(ConfigError, match="cannot make 7 clients dishonest"):
        run_experiment(described(behavior="sign-flip", dishonest="7"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_real_clients_are_not_told_to_lie_by_their_server():
    with pytest.raises(ConfigError, match="behavior = 'sign-flip' is not possible with real clients"):
        check_servable(Experiment(behavior="sign-flip"))


@pytest.mark.parametrize("behavior", ["free-rider:plain", "inner-product:0.5"])
def test_a_monitor_sees_what_dishonest_clients_really_send(behavior):
    """Those who send the model back, and those who agreed upon one lie, are caught in the first round."""
    run = run_experiment(described(behavior=behavior, dishonest="2", monitor="free-riders:5"))
    excluded = [event for event in run.events() if event["kind"] == "client excluded"]
    assert {event["client"] for event in excluded} == {4, 5}
    assert {event["round"] for event in excluded} == {1}


@pytest.mark.parametrize("rule", ["median", "nnm:2,trimmed-mean:0.34", "bucketing:1,multi-krum:1,2"])
@pytest.mark.parametrize("behavior", ["sign-flip", "little-is-enough", "inner-product:0.5"])
def test_robust_rules_bear_lies_of_single_clients_and_of_several(rule, behavior):
    settings = {"clients": 9, "behavior": behavior, "dishonest": "2", "aggregator": rule, "rounds": 2}
    run = run_experiment(described(**settings))
    assert np.isfinite(run.metrics()["test_loss"][-1])
