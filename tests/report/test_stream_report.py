"""Do the figures of a stream show what the record says, and mark its drifts?"""

import numpy as np
import pytest

import unalike
from unalike import FedAvg, MemoryStream
from unalike.models import linear
from unalike.report.run_report import report_run
from unalike.report.stream_report import WINDOW, drift_rounds, stream_figures


def train(drift, **options):
    federation = unalike.load("digits", clients=4, samples=200, seed=1)
    task = unalike.Task.classification(linear(input_shape=(8, 8, 1), outputs=10), classes=10)
    stream = MemoryStream("constant:3", "fifo:8", drift=drift)
    return unalike.train(
        federation, task, FedAvg(), rounds=8, seed=1, stream=stream, evaluate_every=1, **options
    )


@pytest.fixture(scope="module")
def drifting():
    return train("recurring:3,label-swap").metrics()


def vertical(axes):
    """Where lines from top to bottom are."""
    return [line.get_xdata()[0] for line in axes.lines if list(line.get_ydata()) == [0, 1]]


def test_drifts_are_marked_where_changed_rows_begin_to_arrive(drifting):
    assert drift_rounds(drifting).tolist() == [3, 6]
    for drawn in stream_figures(drifting).values():
        assert all(vertical(axes) == [3, 6] for axes in drawn.axes)


def test_rows_and_effective_samples_are_drawn_as_recorded(drifting):
    left, right = stream_figures(drifting)["Stream"].axes
    for axes, names in ((left, ["arrived", "held"]), (right, ["effective_samples"])):
        for line, name in zip(axes.lines, names, strict=False):
            np.testing.assert_array_equal(line.get_ydata(), drifting[name][1:])


def test_prequential_scores_are_means_over_the_last_evaluations(drifting):
    (axes,) = stream_figures(drifting)["Prequential"].axes
    raw = drifting["prequential_accuracy"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), raw)
    by_hand = [raw[max(0, i + 1 - WINDOW) : i + 1].mean() for i in range(len(raw))]
    np.testing.assert_allclose(axes.lines[1].get_ydata(), by_hand)
    words = " ".join(text.get_text() for text in axes.texts)
    assert all(word in words for word in ("prequential", "hold-out", "first concept", "changed", "drift"))


def test_without_a_drift_nothing_is_marked_and_without_a_stream_nothing_drawn():
    calm = train(None).metrics()
    assert not len(drift_rounds(calm))
    assert vertical(stream_figures(calm)["Prequential"].axes[0]) == []
    assert stream_figures({"round": np.arange(3), "test_accuracy": np.ones(3)}) == {}


def test_the_page_has_them_with_captions(tmp_path):
    run = train("abrupt:3,label-swap", out=tmp_path / "run")
    page = report_run(run.folder, run.setting.federation).read_text()
    assert "predicted before they are learned" in page
    assert "rows in memory" in page
    assert (tmp_path / "run" / "plots" / "prequential.png").exists()
    assert (tmp_path / "run" / "plots" / "stream.png").exists()
