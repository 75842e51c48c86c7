"""Is a benchmark fair: the same rows, the same budget, the published number of rounds?"""

import csv
import io
import math

import numpy as np
import pytest

from unalike.data import Federation, load
from unalike.errors import ConfigError, DataError
from unalike.experiments.benchmark import Benchmark, benchmark_registry, run_benchmark, tidy_csv, to_latex
from unalike.experiments.benchmark.protocol import benchmark_task
from unalike.experiments.benchmark.scores import center_notes, mean_defined, score, score_strategy
from unalike.experiments.benchmark.strategies import fit_strategy, pool, strategy_experiment
from unalike.experiments.benchmark.stratified_split import split_centers
from unalike.experiments.benchmark.table import COLUMNS, cross_csv, cross_rows, mean_rows, tidy_rows

QUICK = Benchmark("quick", "heart_like", "accuracy", pooled_epochs=3, local_steps=20, learning_rate=0.05)


@pytest.fixture(scope="module")
def result():
    return run_benchmark(QUICK, ["local", "cyclic", "fedavg"], seeds=2, budget=2)


@pytest.fixture(scope="module")
def centers():
    return load("heart_like", test_fraction=0.0)


def fitted(strategy, cut, benchmark=QUICK):
    experiment = strategy_experiment(strategy, benchmark, cut, seed=0)
    return fit_strategy(strategy, experiment, cut, benchmark_task(benchmark, cut))


def test_rounds_are_those_of_the_published_formula():
    heart = benchmark_registry.make("heart-disease")
    assert heart.rounds(486, 4) == math.floor(486 / 4 / 4 * 50 / 100)
    assert Benchmark("x", "heart_like", "accuracy", local_steps=10**6).rounds(486, 4) == 1


def test_every_class_of_every_center_is_cut_by_the_same_part(centers):
    cut = split_centers(centers, 0.25, 0.25, seed=3)
    for k in range(len(centers)):
        whole = np.bincount(centers.train.client(k)[1], minlength=2)
        tested = np.bincount(cut.test.client(k)[1], minlength=2)
        assert (np.abs(tested - 0.25 * whole) <= 0.5).all()
    assert (cut.train.sizes + cut.validation.sizes + cut.test.sizes == centers.train.sizes).all()


def test_test_rows_do_not_depend_on_validation_rows(centers):
    plain, tuned = split_centers(centers, 0.3, 0.0, 1), split_centers(centers, 0.3, 0.2, 1)
    assert (plain.test.x == tuned.test.x).all()


def test_centers_that_are_cut_are_not_cut_again(centers):
    with pytest.raises(DataError, match="cut once"):
        split_centers(split_centers(centers, 0.3), 0.3)


def test_pooled_training_is_fedavg_of_one_client_that_has_all_rows(centers):
    cut = split_centers(centers, 0.3)
    assert len(pool(cut)) == 1
    assert pool(cut).train.sizes.tolist() == [len(cut.train.y)]


def test_local_models_are_those_that_a_center_would_train_without_the_others(centers):
    cut = split_centers(centers, 0.3)
    together = fitted("local", cut)
    x = cut.test.x
    # The order of batches follows a client's number, so that only the center with number 0 is the same.
    first = fitted("local", cut.subset([0]))
    np.testing.assert_allclose(together.predictor(0)(x), first.predictor(0)(x), atol=1e-6)


def test_the_diagonal_of_the_transfer_table_is_local_training(centers):
    cut = split_centers(centers, 0.3)
    found = score_strategy(fitted("local", cut), cut, "accuracy")
    assert (np.diag(found.elsewhere) == found.centers).all()


def test_the_cyclic_model_visits_centers_in_turn_and_takes_as_many_steps(centers):
    cut = split_centers(centers, 0.3)
    traveled = fitted("cyclic", cut)
    assert traveled.run.rounds == len(cut) * fitted("fedavg", cut).run.rounds
    counts = traveled.run.metrics()["participants"]
    assert np.nanmax(counts) == 1


def test_every_strategy_has_the_same_trials_and_every_seed_every_strategy(result):
    assert {one.trials for one in result.outcomes} == {2}
    assert [len(result.of(name)) for name in result.strategies] == [2] * 3


def test_scores_of_a_shared_model_add_up_to_those_of_all_rows(centers):
    cut = split_centers(centers, 0.3)
    found = score_strategy(fitted("fedavg", cut), cut, "accuracy")
    weighted = np.sum(found.centers * cut.test.sizes) / cut.test.sizes.sum()
    assert found.together == pytest.approx(weighted, abs=1e-6)
    assert found.mean == pytest.approx(found.centers.mean())


def test_methods_with_personal_models_are_asked_themselves():
    for one in run_benchmark(QUICK, ["ditto"], seeds=1, budget=1).outcomes:
        assert ((one.scores.centers >= 0) & (one.scores.centers <= 1)).all()
        assert one.scores.elsewhere is None


def test_the_tidy_table_has_a_line_for_every_strategy_center_and_seed(result):
    rows = list(csv.DictReader(io.StringIO(tidy_csv(result))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 3 * 2 * (4 + 2)
    for strategy in result.strategies:
        for seed in ("0", "1"):
            mine = {
                r["center"]: float(r["value"]) for r in rows if (r["strategy"], r["seed"]) == (strategy, seed)
            }
            assert mine["mean"] == pytest.approx(np.mean([mine[name] for name in result.centers]), abs=1e-5)


def test_only_what_travels_costs_bytes(result):
    sent = {row["strategy"]: row["megabytes"] for row in mean_rows(result)}
    assert sent["local"] == 0
    assert sent["fedavg"] == pytest.approx(sent["cyclic"], rel=0.3)
    assert sent["fedavg"] > 0


def test_latex_has_a_row_for_each_strategy_and_one_best(result):
    text = to_latex(result)
    assert text.count(r"\\") == 4
    assert text.count(r"\textbf") >= 1
    assert len(cross_rows(result)) == 4
    assert len(cross_csv(result).splitlines()) == 5


def test_the_same_seed_gives_the_same_table():
    once, again = (tidy_rows(run_benchmark(QUICK, ["fedavg"], seeds=1, budget=1)) for _ in range(2))
    assert once == again


def test_a_center_with_one_class_or_without_rows_is_left_out_of_the_mean():
    y = np.array([0, 1, 0, 1, 1, 1])
    rows = Federation.from_owners(np.eye(6), y, np.array([0, 0, 0, 0, 1, 1]), clients=3)
    moved = Federation(rows.validation, rows.validation, rows.train, 2)
    notes = center_notes(moved, "auc")
    assert len(notes) == 2
    assert "one class" in notes[0]
    assert "no test rows" in notes[1]
    assert "always naming it is right" in center_notes(moved, "accuracy")[0]
    assert math.isnan(score("auc", np.zeros((2, 2)), np.array([1, 1])))
    assert score("accuracy", np.array([[0.0, 1.0]] * 2), np.array([1, 1])) == 1
    assert mean_defined(np.array([np.nan, 0.25])) == 0.25
    assert math.isnan(mean_defined(np.array([np.nan])))


def test_a_center_without_an_event_is_left_out_of_the_mean():
    signed = np.array([1.0, -2.0, 3.0, -1.0, -2.0])
    rows = Federation.from_owners(np.eye(5), signed, np.array([0, 0, 0, 1, 1]), classes=None)
    moved = Federation(rows.validation, rows.validation, rows.train, None)
    (note,) = center_notes(moved, "concordance")
    assert "no event" in note
    assert math.isnan(score("concordance", np.zeros((2, 1)), signed[3:]))
    assert score("concordance", np.array([[3.0], [2.0], [1.0]]), signed[:3]) == 1


def test_what_diverged_is_not_a_score():
    assert math.isnan(score("accuracy", np.array([[np.nan, 1.0]]), np.array([1])))


@pytest.mark.parametrize("names", [["fedavgg"], ["dpasgd"]])
def test_strategies_that_do_not_exist_or_have_no_server_are_refused(names):
    with pytest.raises(ConfigError):
        run_benchmark(QUICK, names)


def test_personal_methods_are_refused_where_the_metric_cannot_judge_them():
    with pytest.raises(ConfigError, match="ditto gives every center a model of its own"):
        run_benchmark("tcga-like", ["ditto"])


def test_survival_is_learned_and_judged_by_concordance():
    quick = Benchmark(
        "s", "tcga_like", "concordance", "linear:0", "survival", batch_size=32, pooled_epochs=10,
        local_steps=20, learning_rate=0.1, test_fraction=0.3,
    )  # fmt: skip
    found = run_benchmark(quick, ["pooled", "fedavg"], seeds=1, budget=1)
    for one in found.outcomes:
        assert one.scores.together > 0.6
