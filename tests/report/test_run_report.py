"""A run's report tells what the record says, however much of it there is."""

import numpy as np
import pytest
from matplotlib.figure import Figure

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
        "Spread over clients": "35.0 %",
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


class Clinics:
    """What a report asks of a federation."""

    classes, description, names = None, "target 'sick', not read: old.xlsx", ("Basel", "Graz", "Zug", "Ulm")
    importance, target = np.full(4, 0.25), "sick"

    def __len__(self):
        return 4

    def name(self, client):
        return self.names[client]


def small(path, engine="local", rounds=3, evaluated=3):
    folder = RunFolder.create(path, {"algorithm": "fedavg", "data": "nodes", "engine": engine})
    for number in range(rounds + 1):
        who = np.arange(evaluated)
        clients = {"client": who, "test_accuracy": 0.9 - 0.1 * who, "test_samples": who + 1}
        jobs = {"used": [0], "versions": [number - 1], "started": [number - 1.0], "finished": [number]}
        timeline = {name: np.array(values) for name, values in jobs.items()} if number else {}
        metrics = {"test_accuracy": 0.5, "clock": float(number)}
        folder.record.write_round(number, metrics, clients, [], 0.5, timeline)
    return folder


def test_the_start_is_not_a_round(tmp_path):
    record = small(tmp_path / "run", rounds=3).record
    assert headline(record.metrics(), record.client_metrics(), record.timings())["Rounds"] == 3


def test_clients_have_their_names_and_data_their_source(tmp_path, monkeypatch):
    monkeypatch.setattr("unalike.data.draw_partition", lambda _: Figure())
    text = report_run(small(tmp_path / "run"), Clinics()).read_text()
    worst = text.partition("Clients that do worst")[2]
    assert worst.index("Zug") < worst.index("Graz") < worst.index("Basel")
    assert "Data: target &#x27;sick&#x27;, not read: old.xlsx." in text
    assert "3 of 4 evaluated" in text


def test_time_of_real_clients_is_real_and_their_rows_are_not_drawn(tmp_path):
    text = report_run(small(tmp_path / "run", "flower"), Clinics()).read_text()
    assert "imulated" not in text
    assert "time, in seconds" in text
    assert "Data: rows of Basel, Graz, Zug, Ulm, who keep them; target &#x27;sick&#x27;." in text
    assert "<b>Data.</b>" not in text
    assert "<dt>Time</dt><dd>3 s</dd>" in text


def test_every_figure_has_a_caption(tmp_path, monkeypatch):
    monkeypatch.setattr("unalike.data.draw_partition", lambda _: Figure())
    text = report_run(small(tmp_path / "run"), Clinics()).read_text()
    assert text.count("<figcaption>") >= 3
    assert ".</b> </figcaption>" not in text


@pytest.mark.parametrize("spreads", [(0.1, 0.2), (0.2, 0.1)])
def test_the_frontier_speaks_of_a_line_only_where_there_is_one(tmp_path, spreads):
    """A method that is better in both mean and spread is alone on the frontier."""
    clients = {
        name: np.array([mean - spread, mean + spread])
        for name, mean, spread in zip(("a", "b"), (0.7, 0.5), spreads, strict=True)
    }
    answer = compare({name: [{"test_accuracy": 0.5}] for name in clients}, "test_accuracy", clients=clients)
    for row, spread in zip(answer.rows, spreads, strict=True):
        row |= {"spread": spread, "clients_mean": clients[row["method"]].mean()}
    text = report_comparison(tmp_path / "report.html", answer).read_text()
    assert "up and to the left is better and fairer" in text
    assert ("The line joins" in text) == (spreads == (0.2, 0.1))


def test_a_comparison_says_which_seed_and_what_intervals_are(tmp_path):
    seeds = [{"test_accuracy": 0.5}, {"test_accuracy": 0.6}]
    clients = dict.fromkeys(("local", "fedavg"), np.ones(2))
    answer = compare(dict.fromkeys(clients, seeds), "test_accuracy", clients=clients)
    worse = [{"method": "fedavg", "clients": "1 of 2", "who": "Basel"}]
    path = report_comparison(tmp_path / "report.html", answer, {}, {"seed": 4}, worse, "two <clinics>")
    text = path.read_text()
    assert "Seed 4, one of 2: each method" in text
    assert "±: 95 % t intervals over 2 seeds" in text
    assert "Clients that do worse than alone" in text
    assert "Basel" in text
    assert "Data: two &lt;clinics&gt;." in text
    assert ".</b> </figcaption>" not in text


def test_a_page_has_the_notes_that_stand_below_the_table(tmp_path):
    answer = compare(dict.fromkeys("ab", [{"test_accuracy": 0.5}] * 2), "test_accuracy")
    notes = ["Methods saw different data.", "a: test rows decided when to stop."]
    text = report_comparison(tmp_path / "report.html", answer, notes=notes).read_text()
    assert all(note in text for note in notes)
    assert "paired t test" not in text
