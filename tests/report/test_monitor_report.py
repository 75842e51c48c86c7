"""Does the report show who was suspected, when and why?"""

import numpy as np
import pytest

from unalike.report.monitor_report import last_verdicts, monitor_figures, signal_of, suspects
from unalike.runs import Record


@pytest.fixture
def record():
    """Two rounds: client 1 is measured in both, client 3 in the second, where client 1 is quarantined."""
    made = Record(":memory:")
    first = {"monitored": np.array([1, 2]), "monitor_verdict": np.array([0, 0])}
    later = {"monitored": np.array([3, 1]), "monitor_verdict": np.array([0, 2])}
    signals = [
        {"monitor_consecutive": np.array(v), "monitor_normal": np.array(v)} for v in ([0.5, 1.0], [0.9, 0.0])
    ]
    event = {
        "kind": "client quarantined",
        "client": 1,
        "reasons": ["memoryless", "Gaussian"],
        "digest": "ab" * 32,
    }
    made.write_round(1, {}, groups={**first, **signals[0]})
    made.write_round(2, {}, events=[event], groups={**later, **signals[1]})
    return made


def test_the_last_verdict_on_each_client_counts(record):
    assert last_verdicts(record) == {1: 2, 2: 0, 3: 0}


def test_a_signal_is_followed_through_the_rounds_in_which_a_client_took_part(record):
    rounds, values = signal_of(record, "monitor_consecutive", 1)
    assert (rounds.tolist(), values.tolist()) == ([1, 2], [0.5, 0.0])


def test_suspects_have_reasons_and_a_digest_and_nobody_else_is_named(record):
    (row,) = suspects(record)
    assert (row["client"], row["verdict"], row["suspected in round"]) == ("1", "quarantined", 2)
    assert row["reasons"] == "memoryless, Gaussian"
    assert row["digest of the upload"] == "ab" * 8


def test_a_figure_names_suspects_only(record):
    drawn = monitor_figures(record)["Monitor"]
    words = {text.get_text() for axes in drawn.axes for text in axes.texts}
    assert words == {"1 quarantined"}


def test_a_run_without_a_monitor_has_no_figure():
    empty = Record(":memory:")
    assert monitor_figures(empty) == {}
    assert suspects(empty) == []
