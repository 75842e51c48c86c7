"""What does the progress bar keep in a narrow window?"""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from unalike.cli.progress_bar import LiveRounds, fitting

METRICS = {"train_loss": 0.764, "test_loss": 0.664, "test_accuracy": 0.777}


def last_line(width, title="fedem, seed 0", runs=18):
    screen = Console(width=width, force_terminal=True, file=io.StringIO())
    with LiveRounds(False, screen, screen) as progress:
        progress.expect(runs)
        for name in ("fedavg, seed 0", "scaffold, seed 0", title):
            progress.rename(name)
        for number in range(16):
            progress(SimpleNamespace(round=number, metrics=METRICS), 50)
        progress._progress.refresh()
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.file.getvalue())
    return [line for line in re.split(r"[\r\n]+", plain) if line.strip()][-1]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_run_round_and_time_left_are_never_cut(width):
    line = last_line(width)
    assert line.startswith("3/18 fedem, seed 0")
    assert re.search(r"15/50 +\S*:\S+ left", line)
    assert "…" not in line
    assert len(line) <= width


def test_losses_go_first_then_the_time_so_far():
    assert all(word in last_line(140) for word in ("train loss", "test loss", "accuracy", "0:00:00"))
    narrow = last_line(80)
    assert "loss" not in narrow
    assert "accuracy 0.777 0:00:00" in narrow
    assert "accuracy" not in last_line(60)


def test_what_judges_stays_longest_whenever_it_was_measured():
    """The first evaluation comes before the first training loss."""
    assert fitting({"test_loss": 1.0, "test_f1": 0.5, "test_auc": 0.7, "train_loss": 2.0}, 200)[0] == (
        "train loss 2.000  test loss 1.000  AUC 0.700  F1 0.500"
    )
    assert fitting({"test_f1": 0.5, "test_rmse": 0.7}, 8) == ("F1 0.500", False)


def test_a_long_name_is_shortened_at_its_end():
    line = last_line(80, "a-method-with-a-name-that-does-not-end, seed 12")
    assert line.startswith("3/18 a-method-with-a-name")
    assert "15/50" in line


def test_a_single_run_is_not_counted():
    screen = Console(width=80, force_terminal=True, file=io.StringIO())
    with LiveRounds(False, screen, screen) as progress:
        progress(SimpleNamespace(round=1, metrics={}), 5)
        progress._progress.refresh()
    assert "training" in screen.file.getvalue()
