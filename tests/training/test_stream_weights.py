"""Does a record say what rounds, clients and rows of a stream counted, and who is warned?"""

import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, MemoryStream
from unalike.data.streams import Selection, Stream, effective_samples, row_importance
from unalike.models import linear
from unalike.training.stream_weights import OUTSIDE

T = 6


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=6, partition="dirichlet:0.5", samples=240, seed=1)


@pytest.fixture(scope="module")
def task():
    return unalike.Task.classification(linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def train(federation, task, stream, rounds=T, **options):
    options = {"seed": 1, "evaluate_every": 0, **options}
    method = FedAvg(work=LocalWork(steps=1, batch_size=8))
    return unalike.train(federation, task, method, rounds=rounds, stream=stream, **options)


STREAM = ("poisson:3,2", "fifo:9", "memory-size")


def test_the_record_has_what_the_stream_selects(federation, task):
    run, stream = train(federation, task, MemoryStream(*STREAM)), MemoryStream(*STREAM)
    stream.begin(federation, 1, T)
    totals = np.array([stream.totals(t) for t in range(T)])
    rows = row_importance(stream, T, len(federation.train.y))
    metrics, clients = run.metrics(), run.client_metrics()
    assert np.isnan(metrics["round_weight"][0])
    np.testing.assert_allclose(metrics["round_weight"][1:], totals.sum(axis=1) / totals.sum())
    np.testing.assert_allclose(clients["stream_weight"], totals.sum(axis=0) / totals.sum(), atol=1e-9)
    assert clients["stream_rows"].tolist() == stream.arrivals.arrived(T - 1).tolist()
    effective = effective_samples(rows)
    assert metrics["run_effective_samples"][-1] == pytest.approx(effective)
    assert metrics["run_effective_fraction"][-1] == pytest.approx(effective / clients["stream_rows"].sum())
    assert np.isnan(metrics["run_effective_samples"][:-1]).all()


def test_a_resumed_run_has_the_same_record(federation, task, tmp_path):
    whole = train(federation, task, MemoryStream(*STREAM), out=tmp_path / "whole")

    class StopError(Exception):
        pass

    def stop(report, total):
        if report.round == 3:
            raise StopError

    with pytest.raises(StopError):
        train(
            federation, task, MemoryStream(*STREAM), out=tmp_path / "part", observer=stop, checkpoint_every=2
        )
    again = train(federation, task, MemoryStream(*STREAM), out=tmp_path / "part", resume=True)
    np.testing.assert_array_equal(whole.metrics()["round_weight"], again.metrics()["round_weight"])
    weights = [run.client_metrics()["stream_weight"] for run in (whole, again)]
    np.testing.assert_array_equal(*weights)
    again.record.check_digests()


def test_of_many_clients_those_are_recorded_that_are_evaluated(federation, task):
    clients = train(federation, task, MemoryStream(*STREAM), evaluate_clients=3).client_metrics()
    assert clients["client"].tolist() == [0, 2, 5]
    assert np.isfinite(clients["stream_weight"]).all()
    assert np.isfinite(clients["test_accuracy"]).all()


class First(Stream):
    """Every client holds its first row."""

    def begin(self, federation, seed, rounds=None):
        self.offsets = federation.train.offsets

    def select(self, round, clients):
        return Selection(self.offsets[clients], np.arange(len(clients) + 1))


def test_of_streams_of_ones_own_nothing_is_claimed(federation, task):
    assert "round_weight" not in train(federation, task, First()).metrics()
    assert "round_weight" not in train(federation, task, None).metrics()


def test_optimal_weights_with_a_larger_capacity_are_warned_of_once(federation, task):
    with pytest.warns(UserWarning, match="rows stay in memory for up to 4 rounds"):
        run = train(federation, task, MemoryStream("constant:2,3", "fifo:8", "optimal:0.3"))
    (event,) = [event for event in run.events() if event["kind"] == OUTSIDE]
    assert event["rounds_in_memory"] == 4
    assert event["rows_a_round"] == [2, 2]


def test_within_their_assumptions_nobody_is_warned(federation, task, recwarn):
    run = train(federation, task, MemoryStream("constant:2,3", "replace", "optimal:0.3"))
    assert not [event for event in run.events() if event["kind"] == OUTSIDE]
    assert not [warning for warning in recwarn if "optimal stream weights" in str(warning.message)]
