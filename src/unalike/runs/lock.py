"""Is another process writing to this run folder?

The answer is the operating system's own file lock, which ends with the process that holds it, however that
process ends: a run killed with `kill -9` never leaves its folder locked.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import RunError


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Hold the folder while the block runs; a second holder gets an error that names the first."""
    descriptor = _open(Path(folder))
    try:
        _take(descriptor, Path(folder))
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)  # also releases the lock; the file stays, for unlinking it would race


def _open(folder: Path) -> int:
    try:
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"cannot lock run folder {folder} ({error.strerror}).") from error


def _take(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise RunError(f"run folder {folder} is in use by process {holder}.") from None
    except OSError as error:
        raise RunError(
            f"run folder {folder} is on a disk that cannot lock files ({error.strerror})."
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
