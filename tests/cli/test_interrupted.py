"""Is somebody who pressed Ctrl-C told how to go on, with the folder's own name?"""

import io

import pytest
from rich.console import Console

from unalike.cli import interrupted, screen


@pytest.fixture(autouse=True)
def nothing_going():
    interrupted._going.clear()
    yield
    interrupted._going.clear()


def test_the_folder_is_named_once_it_is_there(tmp_path):
    folder = tmp_path / "nodes-fedavg"
    interrupted.can_go_on("unalike serve --resume", folder)
    assert interrupted.after_interruption() == "interrupted."
    folder.mkdir()
    assert f"go on with `unalike serve --resume {folder}`." in interrupted.after_interruption()


def test_lines_of_a_server_are_printed_above_the_bar(monkeypatch):
    terminal, other = (Console(file=io.StringIO(), force_terminal=True, width=80) for _ in range(2))
    monkeypatch.setattr(screen, "stderr", terminal)
    monkeypatch.setattr(screen, "console", other)
    with screen.LiveRounds(quiet=False) as progress:
        progress.say("refused somebody")
    assert "refused somebody\n" in terminal.file.getvalue()
    assert other.file.getvalue() == ""


def test_lines_go_to_a_file_where_one_is_written(monkeypatch):
    terminal, file = Console(file=io.StringIO(), force_terminal=True), Console(file=io.StringIO())
    monkeypatch.setattr(screen, "stderr", terminal)
    monkeypatch.setattr(screen, "console", file)
    with screen.LiveRounds(quiet=False) as progress:
        progress.say("refused somebody")
    assert file.file.getvalue() == "refused somebody\n"
