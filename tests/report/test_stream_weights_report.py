"""Does the page of a run show what its rounds and clients counted?"""

import numpy as np

import unalike
from unalike import FedAvg, MemoryStream
from unalike.models import linear
from unalike.report.run_report import report_run
from unalike.report.stream_weights_report import FIGURE, stream_weight_cards, stream_weight_figures


def test_weights_and_effective_rows_are_on_the_page(tmp_path):
    federation = unalike.load("digits", clients=4, samples=120, seed=1)
    task = unalike.Task.classification(linear(input_shape=(8, 8, 1), outputs=10), classes=10)
    stream = MemoryStream("constant:3,2", "replace", "fixed:0.7")
    run = unalike.train(federation, task, FedAvg(), rounds=5, seed=1, stream=stream, out=tmp_path / "run")
    metrics, clients = run.metrics(), run.client_metrics()
    left, right = stream_weight_figures(metrics, clients)[FIGURE].axes
    np.testing.assert_array_equal(left.lines[0].get_ydata(), metrics["round_weight"][1:])
    rows, weights = (line.get_ydata() for line in right.lines)
    np.testing.assert_allclose(rows, clients["stream_rows"] / clients["stream_rows"].sum())
    np.testing.assert_array_equal(weights, clients["stream_weight"])
    np.testing.assert_allclose(weights[:2].sum(), 0.7)
    page = report_run(run.folder, federation).read_text()
    assert "Effective rows" in page
    assert FIGURE in page
    assert (tmp_path / "run" / "plots" / "stream-weights.png").exists()


def test_without_a_stream_there_is_nothing_to_show():
    assert stream_weight_figures({"round": np.arange(2)}, {}) == {}
    assert stream_weight_cards({"round": np.arange(2)}) == {}
    none = {"run_effective_samples": np.zeros(1), "run_effective_fraction": np.zeros(1)}
    assert stream_weight_cards(none) == {"Effective rows": "0 (0.0 % of none that arrived)"}
