"""Are schemes compared as they are defined, on a run that stays as it is?"""

import csv
import math

import numpy as np
import pytest

import unalike
from unalike.errors import ConfigError, RunError
from unalike.experiments import compare_schemes as module
from unalike.experiments.build import make_algorithm, make_federation, make_task
from unalike.experiments.compare_schemes import COMPARED, WITHOUT, Result, SchemeComparison, compare_schemes
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.experiments.scheme_files import SchemeFiles, choose_folder, readable
from unalike.experiments.unlearning_schemes import UnlearningProblem, forget_in_sequence, train_branch
from unalike.participation import Full, Remaining
from unalike.trust.unlearning.calibration import Budget, gaussian_delta
from unalike.trust.unlearning.certificate import model_digest

WORDS = {
    "data": "digits",
    "samples": 300,
    "clients": 6,
    "partition": "classes:2",
    "model": "linear",
    "rounds": 12,
    "steps": 3,
    "batch_size": 0,
    "learning_rate": 0.05,
    "unlearning": "full",
    "watermark": "pixels:4",
    "watermarked": "2,",
}
BUDGET = Budget(5, 0.01, 0.2)
STOP = "train_accuracy:0.7,3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_experiment(make_experiment(WORDS), folder).folder.close()
    return folder


def contents(folder):
    """All files but the two that SQLite has beside a database while it is read."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".sqlite-" not in path.name]
    return {path: path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def compared(folder):
    before = contents(folder)
    comparison = SchemeComparison.open(folder, ["2"], BUDGET, stop_at=STOP)
    results = compare_schemes(comparison)
    assert contents(folder) == before
    return comparison, {result.scheme: result for result in results}


def test_the_first_training_is_repeated_bit_for_bit(compared):
    comparison, results = compared
    assert model_digest(comparison.first.last["params"]) == comparison.request.digest_before
    assert results[WITHOUT].rounds == 0


def test_schemes_are_those_of_the_study(compared):
    """Against the schemes in memory, on a problem that is put together without the run's plan."""
    comparison, results = compared
    experiment = make_experiment(WORDS)
    rows = make_federation(experiment)
    task = make_task(experiment, rows)
    algorithm = make_algorithm(experiment).prepare(task, rows)
    whole = UnlearningProblem(rows, task, algorithm, None, None, rounds=12)
    first = train_branch(whole, whole.start(), replays=[[2]])
    problem = UnlearningProblem(rows, task, algorithm, None, STOP, rounds=12)
    assert 0 < comparison.request.restart.round < 12
    for scheme in ("scratch", "fine-tuning", "last", "fedaccum", "sifu"):
        (wanted,) = forget_in_sequence(problem, scheme, [[2]], first, BUDGET, "full")
        found = results[scheme]
        assert found.rounds == wanted.rounds
        assert found.forgotten == pytest.approx(wanted.residual)
        assert found.others == pytest.approx(wanted.utility)
        assert found.noise == pytest.approx(wanted.noise)


def test_scratch_never_saw_the_client(compared):
    _, results = compared
    rows = make_federation(make_experiment(WORDS))
    task = unalike.Task.of(rows, "linear")
    method = unalike.FedAvg(
        work=unalike.LocalWork(steps=3, batch_size=0), optimizer=unalike.Optimizer("sgd", 0.05)
    )
    rounds = results["scratch"].rounds
    run = unalike.train(
        rows.without_rows([2]), task, method, rounds=rounds, participation=Remaining(Full(), [2])
    )
    x, y = rows.train.client(2)
    accuracy = (np.asarray(task.model.apply(run.message, x)).argmax(-1) == y).mean()
    assert results["scratch"].forgotten == pytest.approx(accuracy)
    assert results["scratch"].watermark == pytest.approx(accuracy)  # all its rows have the trigger
    assert (results["scratch"].epsilon, results["scratch"].delta) == (0, 0)


def test_guarantees_are_those_of_certificates(compared):
    _, results = compared
    assert results["sifu"].guarantee == results["last"].guarantee == "(5, 0.01), proven"
    assert {results[s].guarantee for s in (WITHOUT, "fine-tuning", "fedaccum")} == {"none"}


def test_what_privacy_costs_follows_from_all_rounds(compared):
    """Closed form: rounds that move 2 w C against noise of z C w_max are one, with the sum of their mu^2."""
    comparison, results = compared
    importance = comparison.present.importance
    mu = BUDGET.ratio * importance[2] / importance.max() * math.sqrt(12)
    assert gaussian_delta(results["dp"].epsilon, mu) == pytest.approx(0.01, rel=1e-3)


def test_an_interrupted_comparison_resumes(folder, compared, tmp_path, monkeypatch):
    comparison, results = compared
    out = choose_folder(folder, comparison.asked(), tmp_path / "out")
    files = SchemeFiles(out, comparison.asked(), comparison.measure)

    def stop(scheme):
        if scheme == "fine-tuning":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_schemes(comparison, files.results, files.keep, stop)
    again = SchemeFiles(out, comparison.asked(), comparison.measure)
    assert list(again.results) == [WITHOUT, "scratch"]
    trained = []
    monkeypatch.setattr(module, "_result", lambda c, scheme, o: trained.append(scheme) or results[scheme])
    compare_schemes(comparison, again.results, again.keep)
    assert trained == list(COMPARED[1:])
    assert SchemeFiles(out, comparison.asked(), comparison.measure).results == results
    with again.write_table().open() as table:
        assert [line["scheme"] for line in csv.DictReader(table)] == [WITHOUT, *COMPARED]
    other = SchemeComparison.open(folder, ["1"], BUDGET)
    with pytest.raises(ConfigError, match="holds another comparison"):
        choose_folder(folder, other.asked(), out)


def test_numbers_that_are_none_survive_files(tmp_path):
    odd = Result("last", None, math.nan, math.nan, epsilon=math.inf, delta=0.0, note="not possible")
    SchemeFiles(tmp_path, {}, "accuracy").keep(odd)
    kept = SchemeFiles(tmp_path, {}, "accuracy").results["last"]
    assert repr(kept) == repr(odd)
    (row,) = readable([kept], "accuracy")
    assert row["rounds"] == row["accuracy on others"] == "–"
    (tmp_path / "schemes.json").write_text("{")
    with pytest.raises(RunError, match="damaged"):
        SchemeFiles(tmp_path, {}, "accuracy")


def test_a_folder_of_its_own_beside_the_run(folder, compared):
    comparison, _ = compared
    assert choose_folder(folder, comparison.asked()) == folder.parent / "run-schemes"
    (folder.parent / "run-schemes").mkdir()
    assert choose_folder(folder, comparison.asked()) == folder.parent / "run-schemes-2"


def test_where_columns_are_coded_with_the_client_only_a_new_model_will_do(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["site,age,ill"]
    for site in "abc":
        lines += [f"{site},{rng.integers(20, 90)},{rng.choice(['yes', 'no'])}" for _ in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    words = {**WORDS, "data": str(tmp_path / "rows.csv"), "client_column": "site", "watermark": None}
    words |= {"samples": None, "clients": None, "partition": None, "watermarked": None, "rounds": 3}
    run_experiment(make_experiment(words), tmp_path / "run").folder.close()
    results = {
        one.scheme: one for one in compare_schemes(SchemeComparison.open(tmp_path / "run", ["b"], BUDGET))
    }
    assert [s for s in COMPARED if results[s].rounds is not None] == ["scratch", "sifu"]
    assert results["sifu"][1:] == results["scratch"][1:]
    assert "only a new model" in results["last"].note
