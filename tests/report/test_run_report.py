"""A run's report tells what the record says, however much of it there is."""

import numpy as np
import pytest

from unalike.report import report_comparison, report_run
from unalike.report.run_report import headline, run_figures, worst_clients
from unalike.runs import RunFolder, compare


def run(path, score="test_accuracy", rounds=6):
    folder = RunFolder.create(path, {"algorithm": "fedavg", "data": {"name": "<b>digits</b>"}})
    for round in range(1, rounds + 1):
        metrics = {"train_loss": 1 / round, "bytes_up": 500.0, "bytes_down": 1500.0, "participants": 3}
        tested = {score: 0.5 + round / 100, "test_loss": 0.5} if round % 3 == 0 else {}
        clients = {"client": np.array(["ann", "<script>", "cy"]), score: [0.9, 0.2, np.nan],
                   "test_samples": [10, 20, 0]} if tested else None  # fmt: skip
        folder.record.write_round(
            round, {**metrics, **tested}, clients, [{"kind": "late", "client": "ann"}], 0.5
        )
    return folder


@pytest.mark.parametrize("score", ["test_accuracy", "test_rmse"])
def test_the_report_and_its_plots_are_written(tmp_path, score):
    folder = run(tmp_path / "first run", score)
    path = report_run(folder)
    text = path.read_text()
    assert path == tmp_path / "first run" / "report.html"
    assert sorted(p.name for p in (tmp_path / "first run" / "plots").iterdir()) == [
        "clients.png",
        "learning.png",
        "traffic.png",
    ]
    assert "first run" in text
    assert "fedavg · &lt;b&gt;digits&lt;/b&gt;" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text


def test_the_headline_is_the_last_measurement(tmp_path):
    folder = run(tmp_path / "run", rounds=7)
    record = folder.record
    cards = headline(record.metrics(), record.client_metrics(), record.timings())
    assert cards == {
        "Test accuracy": "56.0 %",
        "Test loss": "0.5",
        "Bottom decile of clients": "20.0 %",
        "Worst client": "20.0 %",
        "Clients": 3.0,
        "Rounds": 7.0,
        "Traffic": "14 kB",
        "Time": "3.5 s",
    }


@pytest.mark.parametrize(("score", "first"), [("test_accuracy", "<script>"), ("test_rmse", "ann")])
def test_the_worst_clients_come_first_and_unmeasured_ones_not_at_all(tmp_path, score, first):
    rows = worst_clients(run(tmp_path / "run", score).record.client_metrics())
    assert rows[0]["client"] == first
    assert len(rows) == 2


def test_a_run_of_no_rounds_has_a_report_too(tmp_path):
    text = report_run(RunFolder.create(tmp_path / "run", {})).read_text()
    assert "Rounds" in text
    assert "<svg" not in text


def test_a_reader_can_report_while_the_run_goes_on(tmp_path):
    folder = run(tmp_path / "run")
    with folder.locked(), RunFolder.open(tmp_path / "run", read_only=True) as reader:
        assert report_run(reader).exists()


def test_a_federation_adds_its_picture(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    import unalike.data

    monkeypatch.setattr(unalike.data, "draw_partition", lambda federation: Figure(), raising=False)
    assert list(run_figures({"round": np.array([])}, {}, federation=object())) == ["Data"]


def test_a_comparison_has_a_report(tmp_path):
    seeds = [{"round": np.arange(3), "test_accuracy": np.array([0.1, 0.5, x])} for x in (0.7, 0.8)]
    finals = [{"test_accuracy": 0.7}, {"test_accuracy": 0.8}]
    answer = compare(
        {"a": finals, "b<": finals}, "test_accuracy", clients={"a": np.ones(3), "b<": np.zeros(4)}
    )
    text = report_comparison(tmp_path / "c.html", answer, {"a": seeds, "b<": seeds}).read_text()
    assert "a against b&lt;" in text
    assert text.count("<svg") == 2
    assert "0.7500 ±" in text
