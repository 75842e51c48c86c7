"""Is a run that is there read, an interrupted one continued, and a changed one refused?"""

from pathlib import Path

import numpy as np
import pytest

import unalike.experiments.planned_runs as planned_runs
from unalike import RunError
from unalike.experiments.compare import Materials, compare_experiments
from unalike.experiments.config import make_experiment
from unalike.experiments.planned_runs import check_unchanged, is_finished, plan_runs, read_planned
from unalike.experiments.run import run_experiment
from unalike.experiments.variations import variant
from unalike.runs import RunFolder

SMALL = {
    **{"data": "digits", "samples": 200, "clients": 5, "model": "linear", "rounds": 4, "steps": 1},
    **{"devices": 1, "evaluate_every": 0, "checkpoint_every": 1},
}


def variants(*names, **values):
    return {name: variant(make_experiment({**SMALL, **values}), name) for name in names}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with one method on one seed, and what came of it."""
    out = tmp_path_factory.mktemp("comparison")
    return out, compare_experiments(variants("fedavg"), [0], out=out)


@pytest.fixture
def trained(monkeypatch):
    """The folders of runs that were trained, and by how many rounds."""
    folders = []
    real = planned_runs.run_experiment

    def run(experiment, out, *, observer=None, **values):
        rounds = []
        folders.append((out.path if isinstance(out, RunFolder) else Path(out), rounds))
        return real(experiment, out, observer=lambda report, _: rounds.append(report.round), **values)

    monkeypatch.setattr(planned_runs, "run_experiment", run)
    return folders


def test_a_finished_run_is_read_and_gives_the_same_numbers(finished, trained):
    out, before = finished
    again = compare_experiments(variants("fedavg"), [0], out=out)
    assert not trained
    assert again.read == 1
    assert again.results == before.results
    np.testing.assert_array_equal(again.clients["fedavg"], before.clients["fedavg"])
    assert again.names == before.names


def test_only_what_is_new_is_trained(finished, trained):
    out, before = finished
    more = compare_experiments(variants("fedavg"), [0, 1], out=out)
    compare_experiments(variants("fedavg", "local"), [0], out=out)
    assert [folder.name for folder, _ in trained] == ["fedavg-seed1", "local-seed0"]
    assert more.results["fedavg"][0] == before.results["fedavg"][0]


def test_a_run_is_known_by_its_settings_whatever_its_folder_is_called(finished):
    out, _ = finished
    (planned,) = plan_runs({"another name": variants("fedavg")["fedavg"]}, [0], out)
    assert planned.folder == out / "fedavg-seed0"
    assert is_finished(planned)


def test_an_interrupted_run_goes_on_to_the_same_result(finished, trained, tmp_path):
    _, before = finished
    plan = plan_runs(variants("fedavg"), [0], tmp_path)
    material = Materials().of(plan[0].experiment)

    def stop(report, rounds):
        if report.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(
            plan[0].experiment,
            plan[0].folder,
            federation=material.federation,
            task=material.task,
            observer=stop,
        )
    assert plan[0].exists
    assert read_planned(plan[0], material) is None
    found = compare_experiments(variants("fedavg"), [0], out=tmp_path)
    ((_, rounds),) = trained
    assert 0 < len(rounds) < 4
    assert found.results["fedavg"] == before.results["fedavg"]


@pytest.mark.parametrize(("setting", "value"), [("rounds", 5), ("learning_rate", 0.2), ("partition", "iid")])
def test_a_changed_setting_is_refused_by_its_name(finished, setting, value):
    out, _ = finished
    (planned,) = plan_runs(variants("fedavg", **{setting: value}), [0], out)
    with pytest.raises(RunError, match=f"already holds a run with {setting} .*, not {setting} {value}"):
        check_unchanged(planned)


def test_overwrite_trains_again(finished, trained):
    out, _ = finished
    compare_experiments(variants("fedavg"), [0], out=out, overwrite=True)
    assert [folder.name for folder, _ in trained] == ["fedavg-seed0"]


def test_settings_of_the_data_may_differ_but_then_nobody_pays(tmp_path):
    chosen = {words: variants("fedavg", partition=words)["fedavg"] for words in ("iid", "classes:2")}
    found = compare_experiments(chosen, [0])
    assert found.who_pays("iid") == []
    assert set(found.results) == {"iid", "classes:2"}
