"""Is a client really taken out, whatever happens on the way, and is what is said about it true?"""

import json
import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from unalike.core.run_files import MODEL, UNLEARNING
from unalike.errors import ConfigError, RunError, UnalikeError
from unalike.experiments import forget as forgetting
from unalike.experiments.build import make_algorithm, make_federation, make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.forget import forget, resume_forgetting
from unalike.experiments.forget_plan import open_run, plan_request
from unalike.experiments.run import run_experiment
from unalike.participation import Full, Remaining
from unalike.runs import RunFolder, load_tensors
from unalike.runs.sealed_files import seal_again
from unalike.training.train import train
from unalike.trust.unlearning.calibration import Budget
from unalike.trust.unlearning.certificate import model_digest
from unalike.trust.unlearning.requests import RequestLog

WORDS = {
    "data": "digits",
    "samples": 300,
    "clients": 6,
    "partition": "shards:2",
    "model": "linear",
    "rounds": 8,
    "steps": 2,
    "batch_size": 0,
    "learning_rate": 0.05,
    "unlearning": "full",
    "test_fraction": 0.2,
}
SMALL, LARGE = Budget(1, 0.01, 1e-6), Budget(1, 0.01, 100.0)
"""Noise that hides nothing, and noise that hides everything."""


def run(folder, **changes):
    run_experiment(make_experiment({**WORDS, **changes}), folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def folder(trained, tmp_path):
    import shutil

    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def middle(folder, client="2", share=0.5):
    """A budget with which forgetting restarts in the middle of the training."""
    opened = open_run(folder, read_only=True)
    psi = opened.ledger(0).sensitivity(opened.terms.mode)[-1, int(client)]
    budget = Budget(1, 0.01, 1.0)
    return Budget(1, 0.01, budget.sigma_for(share * psi))


def test_without_any_allowance_forgetting_is_training_from_scratch(folder):
    """The noise is below what 32 bits see, so the model is that of a training that never saw the client."""
    done = forget(folder, ["2"], Budget(1, 0.01, 1e-30))
    experiment = make_experiment(WORDS)
    federation = make_federation(experiment)
    task = make_task(experiment, federation)
    given = federation.without_rows([2])
    scratch = train(
        given, task, make_algorithm(experiment), rounds=8, seed=0, participation=Remaining(Full(), [2])
    )
    for ours, theirs in zip(*map(jax.tree.leaves, (done.run.message, scratch.message)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert RequestLog(folder / UNLEARNING).nodes == ((0, 0),)


def test_with_every_allowance_it_restarts_from_the_last_model(folder):
    forget(folder, ["2"], LARGE, rounds=1)
    assert RequestLog(folder / UNLEARNING).nodes == ((0, 8),)


def test_a_restart_in_the_middle_erases_what_came_later(folder):
    plan = plan_request(open_run(folder, read_only=True), ["2"], middle(folder))
    assert 0 < plan.restart.round < 8
    done = forget(folder, ["2"], plan.budget, rounds=3)
    opened = open_run(folder)
    assert opened.branch(0).rounds() == list(range(plan.restart.round + 1))
    assert opened.branch(1).rounds() == [0, 1, 2, 3]
    assert not (folder / "checkpoints").exists()
    assert done.certificate.digest == model_digest(load_tensors(folder / MODEL)[0])
    assert done.certificate.digest != done.certificate.digest_before
    psi = opened.ledger(1).sensitivity("full")
    assert (psi[:, 2] == 0).all()
    assert (psi[-1, [0, 1, 3, 4, 5]] > 0).all()


def test_the_noise_is_what_was_promised(folder):
    budget = middle(folder)
    forget(folder, ["2"], budget, rounds=0)
    opened = open_run(folder)
    node = opened.log.nodes[-1]
    before, after = opened.branch(0).parameters(node.round), opened.branch(1).parameters(0)
    gaps = np.concatenate(
        [
            np.ravel(np.asarray(b) - np.asarray(a))
            for a, b in zip(*map(jax.tree.leaves, (before, after)), strict=True)
        ]
    )
    assert gaps.std() == pytest.approx(budget.sigma, rel=0.15)


def test_a_sequence_keeps_earlier_clients_out(folder):
    forget(folder, ["2"], middle(folder), rounds=4)
    forget(folder, ["0", "5"], middle(folder, "0"), rounds=3)
    third = forget(folder, ["1"], LARGE, rounds=2, rule="path")
    opened = open_run(folder)
    assert opened.log.forgotten == (2, 0, 5, 1)
    assert third.certificate.forgotten_in_all == 4
    assert (opened.ledger(3).weights[:, [2, 0, 5, 1]] == 0).all()
    assert third.certificate.composition.startswith("one noise")
    with RunFolder.open(folder, read_only=True) as after:
        assert after.finished


def test_rules_that_promise_more_never_restart_later(folder):
    opened, budget = open_run(folder, read_only=True), middle(folder)
    alone = plan_request(opened, ["2", "3"], budget, "max").restart.round
    assert plan_request(opened, ["2", "3"], budget, "group").restart.round <= alone
    assert plan_request(opened, ["2"], budget, "max").restart.round >= alone


def test_a_grid_rounds_down(tmp_path):
    folder = run(tmp_path / "run", unlearning="grid:3")
    full = run(tmp_path / "full")
    budget = middle(full, share=0.75)
    wanted = plan_request(open_run(full, read_only=True), ["2"], budget).restart.round
    got = plan_request(open_run(folder, read_only=True), ["2"], budget).restart.round
    assert got == 3 * (wanted // 3)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["nobody"], "unknown client"),
        ([], "which client"),
        (["1", "1"], "twice"),
        (["0", "1", "2", "3", "4", "5"], "nobody would be left"),
    ],
)
def test_what_cannot_be_forgotten_is_refused_and_nothing_is_lost(folder, names, reason):
    before = files_of(folder)
    with pytest.raises(ConfigError, match=reason):
        forget(folder, names, LARGE)
    assert files_of(folder) == before


def files_of(folder):
    """All names, but those of files that a database has while it is open."""
    return sorted(path.name for path in folder.rglob("*") if not path.name.endswith(("-shm", "-wal")))


@pytest.mark.parametrize("words", ["soon", "test_beauty:1", "test_accuracy"])
def test_a_stopping_rule_that_is_none_is_refused_before_anything_is_erased(folder, words):
    with pytest.raises(ConfigError, match="stop_at"):
        forget(folder, ["2"], LARGE, stop_at=words)
    assert (folder / MODEL).exists()


def test_other_data_are_noticed_before_anything_is_erased(folder):
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("clients = 6", "clients = 5"))
    seal_again(folder)
    with pytest.raises(RunError, match="clients differ"):
        forget(folder, ["2"], LARGE)
    assert (folder / MODEL).exists()


def test_retraining_stops_by_its_rule(folder):
    done = forget(folder, ["2"], SMALL, rounds=40, stop_at="train_loss:100,3")
    assert done.certificate.rounds_retrained == 3


def test_nobody_is_forgotten_twice(folder):
    forget(folder, ["2"], LARGE, rounds=1)
    with pytest.raises(ConfigError, match="already"):
        forget(folder, ["2"], LARGE)


def test_a_run_without_a_ledger_says_how_to_switch_it_on(tmp_path):
    folder = run(tmp_path / "run", unlearning=None, rounds=1)
    with pytest.raises(RunError, match="--unlearning full"):
        forget(folder, ["1"], LARGE)


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ({}, "proven"),
        ({"model": "mlp:4"}, "heuristic"),
        ({"per_round": 3}, "conditional"),
        ({"batch_size": 8, "learning_rate": 0.01}, "conditional"),
        ({"per_round": 3, "ledger": "reference"}, "heuristic"),
        ({"momentum": 0.9}, "heuristic"),
        ({"learning_rate": 50.0}, "heuristic"),
    ],
)
def test_only_what_is_proven_is_called_so(tmp_path, words, label):
    folder = run(tmp_path / "run", rounds=2, **words)
    certificate = forget(folder, ["1"], Budget(2, 0.01, 1.0), rounds=1).certificate
    assert certificate.label == label
    assert ("heuristic" in certificate.guarantee) == (label == "heuristic")


def test_the_classic_rule_above_epsilon_one_is_not_certified(folder):
    certificate = forget(folder, ["1"], Budget(10, 0.01, 0.05, "classic"), rounds=1).certificate
    assert certificate.label == "heuristic"
    assert certificate.true_delta == pytest.approx(0.0406, abs=1e-4)


@pytest.mark.parametrize(
    "words",
    [
        {"unlearning": "some"},
        {"unlearning": None, "ledger": "full"},
        {"ledger": "full", "per_round": 2},
        {"algorithm": "scaffold"},
        {"aggregator": "central-dp:1,1"},
        {"sampling": "md", "per_round": 2},
        {"ledger": "full:0.1", "momentum": 0.5},
        {"restarts": 2},
        {"unseen": 0.2},
        {"stop_at": "soon"},
    ],
)
def test_words_that_do_not_go_together_are_refused_before_training(tmp_path, words):
    with pytest.raises(UnalikeError):
        run(tmp_path / "run", **words)
    assert not (tmp_path / "run").exists()


def test_a_declared_convexity_lowers_sensitivities(tmp_path):
    plain, discounted = run(tmp_path / "a", l2=0.5), run(tmp_path / "b", l2=0.5, ledger="full:0")
    psi = [open_run(f, read_only=True).ledger(0).sensitivity("full") for f in (plain, discounted)]
    assert (psi[1][2:] < psi[0][2:]).all()


class KilledError(Exception):
    """What stands for the end of the process."""


def die(*_):
    raise KilledError


@pytest.mark.parametrize("where", ["erase", "start_again", "retrain", "training", "publish"])
def test_an_interrupted_request_goes_on_and_never_looks_finished(folder, where, monkeypatch):
    budget = middle(folder)
    observer = None
    with monkeypatch.context() as patch:
        if where == "training":
            observer = lambda report, rounds: die() if report.round == 2 else None  # noqa: E731
        else:
            patch.setattr(forgetting, where, die)
        with pytest.raises(KilledError):
            forget(folder, ["2"], budget, rounds=4, observer=observer)
    log = RequestLog(folder / UNLEARNING)
    assert log.pending is not None
    if where != "erase":
        assert not (folder / MODEL).exists()
        with RunFolder.open(folder, read_only=True) as opened:
            assert not opened.finished
    with pytest.raises(RunError, match="--resume"):
        forget(folder, ["3"], budget)
    drawn = folder / UNLEARNING / "branch-1" / "round-000000.safetensors"
    noise = drawn.read_bytes() if drawn.exists() else None
    done = resume_forgetting(folder)
    assert noise in (None, drawn.read_bytes())
    assert done.certificate.digest == model_digest(load_tensors(folder / MODEL)[0])
    assert RequestLog(folder / UNLEARNING).pending is None
    with RunFolder.open(folder, read_only=True) as opened:
        assert opened.finished
    with pytest.raises(RunError, match="nothing is being forgotten"):
        resume_forgetting(folder)


def test_kill_9_in_the_middle_leaves_a_request_that_goes_on(folder):
    command = [sys.executable, "-m", "unalike", "forget", str(folder), "--client", "2", "--rounds", "100000"]
    with subprocess.Popen([*command, "--quiet"], env=os.environ) as process:
        files = folder / UNLEARNING / "branch-1"
        for _ in range(600):
            if len(list(files.glob("round-*"))) > 3:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    log = RequestLog(folder / UNLEARNING)
    assert log.pending is not None
    assert not (folder / MODEL).exists()
    words = json.loads(log.path.read_text())
    words["requests"][0]["rounds"] = 5  # a shorter training will do from here on
    log.path.write_text(json.dumps(words))
    seal_again(folder)
    retraining = RunFolder.open(folder / UNLEARNING / "retraining-1")
    retraining.checkpoints.rewind(0)
    retraining.close()
    assert resume_forgetting(folder).certificate.rounds_retrained == 5
