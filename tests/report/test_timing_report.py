"""Does a report of time say what the record says, and no more?"""

import numpy as np
import pytest

from unalike.data import Federation
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.report import save
from unalike.report.timing_report import (
    objectives,
    realized_weights,
    recorded_jobs,
    timing_cards,
    timing_figures,
)
from unalike.runs.record import Record

STEPS = [
    # clients, weights, versions, started, finished, clock
    ([1], [0.8], [0], [0.0], [0.5], 0.5),
    ([0, 1], [1.0, 0.8], [0, 1], [0.0, 0.5], [1.0, 0.9], 1.0),
    ([], [], [], [], [], 1.25),
    ([1], [0.4], [2], [1.0], [1.4], 1.5),
]
LOSSES = {0: [2.0, 2.0], 2: [1.0, 3.0], 4: [0.5, np.nan]}


def federation(importance=(0.75, 0.25)):
    x, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    made = Federation.from_owners(x, y, np.array([0, 0, 1, 1]), names=("ann", "bob"))
    return made.with_importance(list(importance))


def record(steps=STEPS, losses=LOSSES, lost=()):
    written = Record(":memory:")
    write(written, 0, {}, losses)
    for number, (used, weights, versions, started, finished, clock) in enumerate(steps, 1):
        whole, real = (used, versions), (weights, started, finished)
        groups = dict(
            zip(("used", "versions"), (np.array(column, np.int64) for column in whole), strict=True)
        )
        groups |= dict(
            zip(("weights", "started", "finished"), (np.array(c, np.float64) for c in real), strict=True)
        )
        write(written, number, {"clock": clock}, losses, groups)
    for client in lost:
        written.write_round(2, {}, events=[{"kind": "lost job", "client": client}])
    return written


def write(written, number, metrics, losses, groups=None):
    clients = None
    if number in losses:
        found = np.array(losses[number])
        metrics = {**metrics, "test_loss": float(np.nanmean(found)), "test_accuracy": 0.5}
        clients = {"client": np.arange(len(found)), "test_loss": 2 * found, "test_samples": ~np.isnan(found)}
        clients["train_loss"] = found
    written.write_round(number, metrics, clients, groups=groups)


def synchronous():
    written = Record(":memory:")
    written.write_round(1, {"clock": 1.0, "test_loss": 1.0}, groups={"used": np.array([0, 1])})
    return written


def test_jobs_are_the_results_of_all_rounds_with_their_ages():
    work = recorded_jobs(record())
    np.testing.assert_array_equal(work.clients, [1, 0, 1, 1])
    np.testing.assert_array_equal(work.started, [0, 0, 0.5, 1])
    np.testing.assert_array_equal(work.aggregated, [0.5, 1, 1, 1.5])
    np.testing.assert_array_equal(work.versions, [0, 0, 1, 2])
    # Round r makes version r out of version r - 1; the third round was empty but made one too.
    np.testing.assert_array_equal(work.staleness, [0, 1, 0, 1])


def test_realized_weights_are_means_over_rounds_empty_ones_included():
    np.testing.assert_allclose(realized_weights(record(), 3), [1.0 / 4, 2.0 / 4, 0])


def test_objectives_weigh_losses_by_importance_and_by_realized_weights():
    found = objectives(record(), federation().importance)
    importance, realized = np.array([0.75, 0.25]), np.array([1, 2]) / 3
    np.testing.assert_array_equal(found.at, [0, 1, 1.5])
    np.testing.assert_allclose(found.target, [2, importance @ [1, 3], 0.5])
    np.testing.assert_allclose(found.surrogate, [2, realized @ [1, 3], 0.5])
    spreads = [np.sqrt(w @ (np.array([1, 3]) - w @ [1, 3]) ** 2) for w in (importance, realized)]
    np.testing.assert_allclose(found.target_spread, [0, spreads[0], 0])
    np.testing.assert_allclose(found.surrogate_spread, [0, spreads[1], 0])


def test_losses_on_test_rows_are_weighed_likewise():
    train, test = (objectives(record(), federation().importance, split) for split in ("train", "test"))
    np.testing.assert_array_equal(train.at, test.at)
    for of_train, of_test in zip(train[1:], test[1:], strict=True):
        np.testing.assert_allclose(of_test, 2 * of_train)


def test_weights_equal_to_importances_make_the_two_objectives_one():
    found = objectives(record(), np.array([1, 2]) / 3)
    np.testing.assert_allclose(found.target, found.surrogate)


def test_a_client_that_was_never_heard_has_no_part_in_the_surrogate_and_nobody_heard_makes_none():
    silent = [([1], [1.0], [0], [0.0], [1.0], 1.0)]
    np.testing.assert_allclose(objectives(record(silent, {1: [1.0, 3.0]}), np.full(2, 0.5)).surrogate, [3])
    empty = [([], [], [], [], [], 1.0)]
    found = objectives(record(empty, {1: [1.0, 3.0]}), np.full(2, 0.5))
    assert found.target == 2
    assert np.isnan(found.surrogate)


def test_a_run_that_diverged_has_an_infinite_objective():
    found = objectives(record(losses={1: [np.inf, 1.0], 2: [1.0, 1.0]}), np.full(2, 0.5))
    assert found.target.tolist() == [np.inf, 1.0]


def test_of_very_many_evaluations_some_are_read_the_first_and_the_last_among_them():
    steps = [([0], [1.0], [k], [float(k)], [k + 1.0], k + 1.0) for k in range(300)]
    found = objectives(record(steps, {k: [float(k)] for k in range(301)}), np.ones(1))
    assert len(found.at) == 60
    assert (found.at[0], found.at[-1], found.target[-1]) == (0, 300, 300)


def test_cards_say_how_long_how_old_how_biased_and_how_much_was_lost():
    realized, importance = np.array([1, 2]) / 3, np.array([0.75, 0.25])
    distance = sum((p - q) ** 2 / q for p, q in zip(importance, realized, strict=True))
    cards = timing_cards(record(lost=[0, 1, 1]), federation())
    assert float(cards.pop("Bias of weights (chi-square)")) == pytest.approx(distance, rel=1e-3)
    assert cards == {
        "Simulated time": "1.5",
        "Mean staleness": "0.50 versions",
        "Oldest result": "1 version",
        "Lost jobs": 3.0,
    }


def test_cards_leave_out_what_is_not_known_or_did_not_happen():
    assert list(timing_cards(record())) == ["Simulated time", "Mean staleness", "Oldest result"]
    unbiased = timing_cards(record(), federation([1 / 3, 2 / 3]))
    assert unbiased["Bias of weights (chi-square)"] == "0"
    silent = timing_cards(record(STEPS[:1]), federation())
    assert silent["Bias of weights (chi-square)"] == "∞, 1 client never heard"


def test_a_client_of_no_importance_need_not_be_heard():
    cards = timing_cards(record(STEPS[:1]), federation([0.0, 1.0]))
    assert cards["Bias of weights (chi-square)"] == "0"


def test_rounds_without_a_timeline_have_no_figures_and_no_cards():
    for silent in (Record(":memory:"), synchronous(), record([([], [], [], [], [], 1.0)])):
        assert timing_figures(silent, federation()) == {}
        assert timing_cards(silent, federation()) == {}


def test_figures_are_those_that_the_record_has_numbers_for(tmp_path):
    everything = timing_figures(record(), federation())
    assert list(everything) == ["Jobs", "Time", "Staleness", "Objectives", "Objectives on test rows"]
    for name, figure in everything.items():
        assert save(figure, tmp_path / f"{name}.png").stat().st_size > 0
    assert list(timing_figures(record(), None)) == ["Jobs", "Time", "Staleness"]
    assert list(timing_figures(record(losses={}), federation())) == ["Jobs", "Staleness"]
    assert list(timing_figures(record(STEPS[:1]), federation())) == ["Jobs", "Time"]


def test_rows_have_the_names_of_clients():
    (axes,) = timing_figures(record(), federation())["Jobs"].axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["bob", "ann"]


@pytest.fixture(scope="module", params=["async", "fedfix:0.5", "fedbuff:2"])
def trained(request, tmp_path_factory):
    words = {"clients": 4, "model": "linear", "hardware": "spread:50", "until": 12.0, "evaluate_every": 4}
    experiment = make_experiment({**words, "timing": request.param, "evaluate_training": True})
    return run_experiment(experiment, tmp_path_factory.mktemp("timing") / "run")


def test_ages_agree_with_those_that_training_records(trained):
    metrics, work = trained.record.metrics(), recorded_jobs(trained.record)
    ages = {
        number: work.staleness[work.versions + work.staleness + 1 == number]
        for number in trained.record.groups("used")
    }
    for number, mean, oldest in zip(
        *(metrics[key][1:] for key in ("round", "staleness", "oldest")), strict=True
    ):
        assert len(ages[number]) == len(trained.record.groups("used")[number])
        assert not len(ages[number]) or (ages[number].mean(), ages[number].max()) == (mean, oldest)


def test_a_training_with_corrected_weights_descends_its_target(trained):
    importance = trained.setting.federation.importance
    for split in ("train", "test"):
        found = objectives(trained.record, importance, split)
        assert found.at[0] == 0
        assert (np.diff(found.at) >= 0).all()
        np.testing.assert_allclose(found.surrogate, found.target, rtol=0.05)
    losses = trained.record.metrics()["test_loss"]  # importances are shares of rows, up to rounding
    np.testing.assert_allclose(found.target, losses[np.isfinite(losses)], rtol=0.01)


def test_the_target_is_the_objective_on_all_training_rows(trained):
    federation = trained.setting.federation
    target = objectives(trained.record, federation.importance).target[-1]
    values = trained.evaluate("train")
    assert target == pytest.approx(federation.importance @ values["loss"], rel=1e-6)


def test_a_training_has_all_figures_and_cards(trained):
    figures = timing_figures(trained.record, trained.setting.federation)
    assert list(figures) == ["Jobs", "Time", "Staleness", "Objectives", "Objectives on test rows"]
    cards = timing_cards(trained.record, trained.setting.federation)
    assert float(cards["Bias of weights (chi-square)"]) < 0.01
    assert float(cards["Simulated time"]) <= 12
