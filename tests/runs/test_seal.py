"""Does a seal survive a crash at any moment, and nothing else?  (The write-ahead log of digests.)"""

from contextlib import suppress

import numpy as np
import pytest

from unalike.core.run_files import BEST, SEAL
from unalike.errors import RunError
from unalike.runs import RunFolder, atomic, save_tensors, sealed_files
from unalike.runs import seal as sealing
from unalike.runs.seal import read_seal
from unalike.runs.sealed_files import seal_again, verify

TREE = {"w": np.arange(3.0)}


class CrashError(BaseException):
    """The process ends here."""


def crash(*_):
    raise CrashError


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path / "run", {"seed": 0})
    with made, made.locked():
        made.record.write_round(0, {"loss": 1.0})
        made.save_checkpoint(0, TREE)
        save_tensors(made.path / BEST, TREE)
    return made.path


def reopen(path):
    """Open a folder as `resume` does, and use it."""
    with RunFolder.open(path) as again, again.locked():
        save_tensors(path / BEST, {"w": np.full(3, 7.0)})
        again.save_checkpoint(2, TREE)
        again.record.write_round(2, {"loss": 0.1})
    RunFolder.open(path).close()


@pytest.mark.parametrize("moment", ["before the line", "before the file", "after the file"])
@pytest.mark.parametrize("name", [BEST, "checkpoints/round-000001.safetensors"])
def test_a_crash_at_any_moment_leaves_a_folder_that_resumes(folder, monkeypatch, moment, name):
    place = {
        "before the line": (atomic, "note_file"),
        "before the file": (atomic.os, "replace"),
        "after the file": (atomic, "remove_leftovers"),
    }
    with monkeypatch.context() as patch:
        if moment == "after the file":
            patch.setattr(atomic, "sync", lambda path: crash() if path.is_dir() else None)
        else:
            patch.setattr(*place[moment], crash)
        with pytest.raises(CrashError):
            save_tensors(folder / name, {"w": np.ones(3)})
    reopen(folder)


@pytest.mark.parametrize("reads", [1, 3])
def test_a_folder_that_is_written_to_while_it_is_read_is_no_changed_one(folder, monkeypatch, reads):
    """The writer adds a checkpoint right after its log was read, and is then quiet."""
    seen = []

    def read_before_a_write(path):
        found = read_seal(path)
        if len(seen) < reads:
            seen.append(len(seen) + 1)
            save_tensors(path / f"checkpoints/round-{seen[-1]:06d}.safetensors", {"w": np.full(3, seen[-1])})
            save_tensors(path / BEST, {"w": np.full(3, -seen[-1])})
        return found

    monkeypatch.setattr(sealed_files, "read_seal", read_before_a_write)
    assert len(verify(folder).digests) == 3 + reads
    assert len(seen) == reads


def test_a_line_that_was_cut_off_is_no_line(folder, monkeypatch):
    with (folder / SEAL).open("ab") as file:
        file.write(b'{"file": "config.toml", "sha2')
    reopen(folder)


def test_an_old_version_of_a_file_is_refused_once_the_folder_was_released(folder):
    old = (folder / BEST).read_bytes()
    reopen(folder)
    (folder / BEST).write_bytes(old)
    with pytest.raises(RunError, match=r"best\.safetensors was changed"):
        verify(folder)


def test_a_removed_file_does_not_come_back(folder):
    old = (folder / BEST).read_bytes()
    atomic.remove_file(folder / BEST)
    verify(folder)
    reopen(folder)
    atomic.remove_file(folder / BEST)
    sealing.settle(folder)
    (folder / BEST).write_bytes(old)
    with pytest.raises(RunError, match=r"best\.safetensors was changed"):
        verify(folder)


@pytest.mark.parametrize("number", range(4))
def test_no_line_can_be_left_out_changed_or_moved(folder, number):
    lines = (folder / SEAL).read_bytes().splitlines(keepends=True)
    assert len(lines) >= 4
    fewer = lines[:number] + lines[number + 1 :]
    moved = [lines[number - 1] if i == number else line for i, line in enumerate(lines)]
    other_digits = bytes.maketrans(b"0123456789", b"1234567890")
    changed = [line.translate(other_digits) if i == number else line for i, line in enumerate(lines)]
    for forged in (fewer, moved, changed):
        if forged == lines[:-1]:  # the newest file is then unknown
            continue
        (folder / SEAL).write_bytes(b"".join(forged))
        with suppress(RunError):
            assert not read_seal(folder).is_own  # it claims to be somebody else's


NONSENSE = (b"", b"\n", b"[]\n", b"{}\n", b"\xff\n", b'{"format": 2}\n', b"[" * 10**5)


@pytest.mark.parametrize("content", NONSENSE)
def test_nonsense_is_one_sentence(folder, content):
    (folder / SEAL).write_bytes(content)
    with pytest.raises(RunError, match="unalike runs seal"):
        read_seal(folder)


def test_a_round_cannot_be_dropped_or_brought_in(folder):
    import sqlite3

    with sqlite3.connect(folder / "metrics.sqlite") as database:
        for table in ("rounds", "metrics", "timings", "events", "digests"):
            database.execute(f"DELETE FROM {table} WHERE round = 0")
    database.close()
    with pytest.raises(RunError, match=r"metrics\.sqlite is damaged \(it was changed"):
        RunFolder.open(folder)


def test_an_undone_write_leaves_a_valid_record(folder):
    with RunFolder.open(folder) as opened:
        with pytest.raises((TypeError, ValueError)):
            opened.record.write_round(1, {"loss": 1.0}, clients={"client": [1, 2], "loss": ["no", "number"]})
        opened.record.write_round(2, {"loss": 0.5})
        opened.record.rewind(1)
        opened.record.write_round(2, {"loss": 0.25})
    RunFolder.open(folder).close()


def test_rounds_may_be_written_in_any_order(folder):
    for round in (5, 3, 5, 4, 9, 0):
        with RunFolder.open(folder) as opened:
            opened.record.write_round(round, {"loss": float(round)})
            opened.record.write_round(round, {"accuracy": float(round)})
    RunFolder.open(folder).close()


def test_rounds_after_the_last_checkpoint_survive_a_crash_and_a_finished_run_has_none(folder):
    opened = RunFolder.open(folder)
    opened.record.write_round(1, {"loss": 0.5})
    opened.record._database.close()  # the process ends here
    RunFolder.open(folder).close()
    with RunFolder.open(folder) as opened:
        opened.finished = True
    opened = RunFolder.open(folder)
    opened.record.write_round(2, {"loss": 0.0})
    opened.record._database.close()
    with pytest.raises(RunError, match="rounds were added after it was finished"):
        RunFolder.open(folder)


def test_what_is_beside_the_run_is_not_sealed(folder):
    (folder / "report.html").write_text("<p>")
    verify(folder)


def test_sealing_again_is_a_new_run_under_the_same_key(folder):
    before = verify(folder)
    seal_again(folder)
    after = verify(folder)
    assert (before.key, before.run != after.run, after.is_own) == (after.key, True, True)
    assert (folder / SEAL).stat().st_mode & 0o077 == 0
