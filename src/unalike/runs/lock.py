"""The lock of a run folder: is another process writing to it?

The answer is the operating system's own file lock, which ends with the process that holds it, however that
process ends: a run killed with `kill -9` never leaves its folder locked. The file also says who holds it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import RunError

_START = 1
"""Where the holder's number begins: Windows lets nobody else read the byte that is locked, the first."""
_UNABLE = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}


@contextmanager
def lock_folder(folder: str | Path) -> Iterator[None]:
    """Hold the folder while the block runs; a second holder gets an error that names the first."""
    lock = _take(Path(folder))
    try:
        _write_holder(lock.lock_file, f"{os.getpid()}\n")
        yield
        _write_holder(lock.lock_file, "")
    finally:
        lock.release()  # the file stays, for unlinking it would race


def is_locked(folder: str | Path) -> bool:
    """Whether somebody holds the folder; nothing is written to find out."""
    path = Path(folder) / "lock"
    if not path.exists():
        return False
    lock = FileLock(path, timeout=0, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:  # a disk without locks, or one that may only be read: nobody can hold it there
        return False
    lock.release()
    return False


def _take(folder: Path) -> FileLock:
    if not folder.is_dir():  # the lock would make one
        raise RunError(f"cannot lock run folder {folder} ({os.strerror(errno.ENOENT)}).")
    # Where there are no locks, an existing file is not taken for one: a killed run would leave it behind. And
    # the thread that takes the lock may not be the one that gives it back.
    lock = FileLock(folder / "lock", timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(f"run folder {folder} is in use by process {_holder(lock.lock_file)}.") from None
    except OSError as error:
        raise RunError(_reason(folder, error)) from error
    return lock


def _reason(folder: Path, error: OSError) -> str:
    if error.errno in _UNABLE:
        return f"run folder {folder} is on a disk that cannot lock files ({error.strerror})."
    return f"cannot lock run folder {folder} ({error.strerror})."


def _holder(path: str) -> str:
    with Path(path).open("rb", buffering=0) as file:
        file.seek(_START)
        return file.read(32).decode(errors="replace").strip() or "unknown"


def _write_holder(path: str, words: str) -> None:
    with Path(path).open("rb+", buffering=0) as file:
        file.seek(_START)
        file.write(words.encode())
        file.truncate()
