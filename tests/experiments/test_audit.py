"""Does an audit see what a run has memorized, and leave its folder as it was?"""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from unalike.algorithms import FedAvg, Local, LocalWork, Optimizer
from unalike.data import Federation, Split
from unalike.data.federation import assemble
from unalike.errors import ConfigError, DataError, RunError
from unalike.experiments.audit import audit, audit_run, declared_values
from unalike.experiments.audit_references import draw_halves, train_cohort
from unalike.experiments.audit_rows import OTHERS, TRAINING, AuditRows, collect_rows, deal_again, run_signals
from unalike.experiments.config import make_experiment
from unalike.experiments.reopen import reopen
from unalike.experiments.run import run_experiment
from unalike.models import Task, linear
from unalike.privacy.audit.report_card import summarize
from unalike.training.train import train

ROWS, FEATURES, CLASSES = 240, 60, 3


def write_random_labels(folder):
    """Clients whose labels are drawn at random: whoever is right on a row has seen it."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for name in ("here", "there", "yonder"):
        x = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
        np.savez(folder / f"{name}.npz", x=x, y=rng.integers(0, CLASSES, ROWS))
    return folder


WORDS = {
    "model": "linear",
    "rounds": 25,
    "epochs": 4,
    "learning_rate": 0.1,
    "test_fraction": 0.4,
    "validation_fraction": 0.2,
}


@pytest.fixture(scope="module")
def memorizing(tmp_path_factory):
    place = tmp_path_factory.mktemp("audit")
    data = write_random_labels(place / "data")
    run = run_experiment(make_experiment({"data": str(data), **WORDS}), place / "run")
    run.folder.close()
    return place / "run"


@pytest.fixture(scope="module")
def card(memorizing):
    return audit(memorizing, references=8)


def digests(folder):
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def test_training_rows_leak_and_reference_rows_that_nobody_used_do_not(card):
    assert card.training.leaks
    assert card.training.accuracy.value > 0.65
    assert not card.reference.leaks
    assert card.reference.accuracy.low < 0.5 < card.reference.accuracy.high
    assert card.utility.low < 1 / CLASSES < card.utility.high
    assert card.training.epsilon.epsilon > 0.2
    assert card.reference.epsilon.epsilon == 0
    assert "training rows are told from others" in summarize(card)
    assert "no attack tells reference rows" in summarize(card)


def test_there_is_no_shift_between_rows_that_were_drawn_alike(card):
    assert not card.training.shift.shifted
    assert not card.reference.shift.shifted


def test_every_client_is_judged_and_all_rows_are_those_of_clients(card):
    assert {part.name for part in card.training.clients} == {"here", "there", "yonder"}
    assert sum(part.accuracy.rows for part in card.training.clients) == card.training.rows


def test_measured_declared_and_combined_are_apart(card):
    shown = card.as_dict()
    assert shown["declared"] == {}
    own, other = (part.accuracy.value for part in (card.training, card.reference))
    assert shown["combined"] == {"weighted_advantage": pytest.approx(own + other - 1)}
    declared = replace(card, declared={"reference_sensitivity": 0.0, "epsilon": 4.0})
    assert declared.combined["weighted_advantage"] == pytest.approx(2 * own - 1)
    assert declared.combined["epsilon_at_most"] == 4.0


def test_the_folder_is_not_changed_and_an_audit_repeats(memorizing, card):
    before = digests(memorizing)
    again = audit(memorizing, references=8)
    assert digests(memorizing) == before
    assert again.as_dict() == card.as_dict()


def test_the_reopened_run_predicts_what_the_record_says(memorizing):
    with reopen(memorizing) as (_, run):
        table = collect_rows(run.setting.federation)
        signals = run_signals(run, table)
        for split, kind in (("train", TRAINING), ("test", OTHERS)):
            found = run.evaluate(split)
            rows = table.of(kind)
            means = [-signals.scores["loss"][rows[table.owners[rows] == c]].mean() for c in range(3)]
            np.testing.assert_allclose(means, found["loss"], rtol=1e-4)


@pytest.mark.parametrize("name", ["fedavg+", "ditto", "fedem", "knnper", "local"])
def test_own_predictors_are_those_that_the_engine_evaluates(memorizing, name):
    with reopen(memorizing) as (experiment, first):
        options = {"algorithm": name, "rounds": 2}
        run = run_experiment(experiment.model_copy(update=options), federation=first.setting.federation)
        table = collect_rows(run.setting.federation)
        signals, rows = run_signals(run, table), table.of(OTHERS)
        means = [-signals.scores["loss"][rows[table.owners[rows] == c]].mean() for c in range(3)]
        np.testing.assert_allclose(means, run.evaluate("test")["loss"], rtol=1e-3)


def test_personal_models_are_compared_with_runs_of_the_same_experiment(memorizing):
    with reopen(memorizing) as (experiment, first):
        alone = experiment.model_copy(update={"algorithm": "local", "rounds": 15})
        run = run_experiment(alone, federation=first.setting.federation)
        card = audit_run(run, alone, references=4)
    assert card.facts["kind"] == "runs"
    assert card.training.leaks


def test_a_run_of_python_is_audited_where_it_is():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(300, 80)).astype(np.float32), rng.integers(0, 2, 300)
    federation = Federation.from_owners(x, y, np.arange(300) % 2, test_fraction=0.5)
    task = Task.classification(linear(input_shape=(80,), outputs=2), classes=2)
    run = train(federation, task, FedAvg(work=LocalWork(epochs=5)), rounds=30)
    card = audit_run(run, references=4)
    assert card.facts["kind"] == "cohort"
    assert card.training.leaks
    with pytest.raises(ConfigError, match="can be trained again"):
        audit_run(run, references=4, kind="runs")


def test_the_accountants_epsilon_is_declared_beside_the_measured_bound(memorizing, card):
    with reopen(memorizing) as (experiment, first):
        private = experiment.model_copy(update={"aggregator": "central-dp:1,2", "rounds": 3})
        run = run_experiment(private, federation=first.setting.federation)
    declared = declared_values(run, 0.5)
    assert declared == {"reference_sensitivity": 0.5, "delta": 1e-5, "epsilon": run.metrics()["epsilon"][-1]}
    combined = replace(card, declared=declared).combined
    assert combined["epsilon_at_least"] == card.training.epsilon.epsilon
    assert combined["epsilon_at_most"] == declared["epsilon"] > 0


def test_a_cohort_is_each_of_its_models_trained_alone():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 5)).astype(np.float32), rng.integers(0, 2, 40)
    rows = AuditRows(x, y, np.zeros(40, int), np.zeros(40, int))
    task = Task.classification(linear(input_shape=(5,), outputs=2), classes=2)
    inside = draw_halves(rows.owners, 4, seed=3)
    found = train_cohort(task, rows, inside, -1.0, Optimizer("sgd", 0.5), batch_size=0, most=6)
    for half, signals in zip(inside, found.signals, strict=True):
        alone = Federation.from_owners(x[half], y[half], np.zeros(half.sum(), int), classes=2)
        method = Local(work=LocalWork(epochs=1, batch_size=0), optimizer=Optimizer("sgd", 0.5))
        run = train(alone, task, method, rounds=6, seed=0)
        np.testing.assert_allclose(signals.scaled, run_signals(run, rows).scaled, rtol=1e-3, atol=1e-4)
    assert "do not fit" in found.note


def test_halves_are_halves_of_every_client_and_differ():
    owners = np.array([0, 0, 0, 0, 2, 2, 1])
    inside = draw_halves(owners, 200, 0)
    assert (inside[:, owners == 0].sum(1) == 2).all()
    assert (inside[:, owners == 2].sum(1) == 1).all()
    assert np.abs(inside[:, owners == 0].mean(0) - 0.5).max() < 0.15


def test_dealing_again_moves_rows_between_training_and_test(memorizing):
    with reopen(memorizing) as (_, run):
        federation = run.setting.federation
        table = collect_rows(federation)
        inside = draw_halves(table.owners, 1, 0)[0]
        again = deal_again(federation, table, inside)
        assert again.train.sizes.tolist() == np.bincount(table.owners[inside]).tolist()
        assert len(again.train.y) + len(again.test.y) == len(table)


# Bad input -----------------------------------------------------------------------------------------------


def small(test=10, repeated=0):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 3)).astype(np.float32), rng.integers(0, 2, 40)
    x[30 : 30 + repeated], y[30 : 30 + repeated] = x[:repeated], y[:repeated]
    parts = np.where(np.arange(40) < 30, 0, 2)[: 30 + test].astype(np.int8)
    split = assemble(x[: 30 + test], y[: 30 + test], np.zeros(30 + test, int), parts, 1)
    return Federation(*split, classes=2)


def test_rows_in_both_sets_are_removed_and_that_is_said():
    table = collect_rows(small(repeated=4))
    assert len(table.of(OTHERS)) == 6
    assert table.removed == ("4 non-members that equal a member were removed.",)


def test_at_most_so_many_rows_are_looked_at_and_half_are_others():
    table = collect_rows(small(), most=12)
    assert len(table.of(OTHERS)) == len(table.of(TRAINING)) == 6


def test_no_non_members_and_no_reference_rows_are_refused():
    with pytest.raises(DataError, match="no non-members"):
        collect_rows(small(test=0))
    nothing = Split(np.zeros((0, 3), np.float32), np.zeros(0, int), np.zeros(2, int))
    with pytest.raises(DataError, match="reference set is empty"):
        collect_rows(small(), nothing)


def test_data_that_cannot_be_found_or_are_others_are_refused(tmp_path):
    data = write_random_labels(tmp_path / "data")
    run_experiment(
        make_experiment({"data": str(data), **WORDS, "rounds": 2}), tmp_path / "run"
    ).folder.close()
    np.savez(data / "here.npz", x=np.ones((ROWS, FEATURES), np.float32), y=np.zeros(ROWS, int))
    with pytest.raises(DataError, match="its training rows are not those"):
        audit(tmp_path / "run", references=4)
    for path in data.iterdir():
        path.unlink()
    with pytest.raises(DataError, match="cannot be opened with its data again"):
        audit(tmp_path / "run", references=4)


def test_what_cannot_be_audited_is_refused(memorizing, tmp_path):
    with pytest.raises(ConfigError, match="at least 4 reference models"):
        audit(memorizing, references=3)
    with pytest.raises(ConfigError, match="unknown reference rows"):
        audit(memorizing, references=4, reference="tset")
    with pytest.raises(ConfigError, match="unknown kind of reference models"):
        audit(memorizing, references=4, kind="cohrt")
    with pytest.raises(RunError, match="no run folder"):
        audit(tmp_path / "nothing")
    task = Task.classification(linear(input_shape=(3,), outputs=2), classes=2)
    train(small(), task, Local(), rounds=1, out=tmp_path / "python").folder.close()
    with pytest.raises(RunError, match="made in Python"):
        audit(tmp_path / "python", references=4)
