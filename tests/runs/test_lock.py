"""A folder has one writer."""

import errno
import os
import subprocess
import sys
import threading

import filelock
import pytest

from unalike.errors import RunError
from unalike.runs import lock_folder


def test_a_folder_can_be_held_once(tmp_path):
    with lock_folder(tmp_path), pytest.raises(RunError, match="in use by process"), lock_folder(tmp_path):
        pass


def test_it_can_be_held_again_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), lock_folder(tmp_path):
        raise ZeroDivisionError
    with lock_folder(tmp_path):
        assert (tmp_path / "lock").exists()


def test_a_missing_folder_cannot_be_held(tmp_path):
    with (
        pytest.raises(RunError, match=r"cannot lock run folder .*No such file"),
        lock_folder(tmp_path / "none"),
    ):
        pass
    assert not (tmp_path / "none").exists()


def test_the_holder_is_named_while_it_holds(tmp_path):
    refusal = f"run folder {tmp_path} is in use by process {os.getpid()}."
    with lock_folder(tmp_path), pytest.raises(RunError) as refused, lock_folder(tmp_path):
        pass
    assert str(refused.value) == refusal
    assert str(os.getpid()).encode() not in (tmp_path / "lock").read_bytes()


def test_the_byte_that_windows_locks_is_not_part_of_the_name(tmp_path):
    with lock_folder(tmp_path), (tmp_path / "lock").open("rb") as file:
        file.seek(1)
        assert int(file.read()) == os.getpid()


def test_another_thread_may_let_go(tmp_path):
    holding = lock_folder(tmp_path)
    holding.__enter__()
    thread = threading.Thread(target=holding.__exit__, args=(None, None, None))
    with pytest.raises(RunError, match="in use"), lock_folder(tmp_path):
        pass
    thread.start()
    thread.join()
    with lock_folder(tmp_path):
        assert (tmp_path / "lock").exists()


def test_a_disk_without_locks_is_refused_and_nothing_weaker_taken(tmp_path, monkeypatch):
    def missing(lock):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(filelock.FileLock, "_acquire", missing)
    with pytest.raises(RunError, match="is on a disk that cannot lock files"), lock_folder(tmp_path):
        pass


@pytest.mark.skipif(os.name == "nt" or not os.geteuid(), reason="everybody may write everywhere")
def test_a_folder_that_may_not_be_written_cannot_be_held(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="cannot lock"), lock_folder(tmp_path):
        pass


def test_locks_need_no_module_that_only_unix_has(tmp_path):
    program = "import sys; sys.modules['fcntl'] = None; import unalike.runs.lock"
    subprocess.run([sys.executable, "-c", program], check=True)
