"""Files of a data set: where they are, and how they are downloaded.

From the folder that the environment variable UNALIKE_DATA names, or else from a download that is checked
against its SHA-256 sum and kept in the user's cache, or else from nowhere, and then the error says what to
do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.jax_startup import cache_folder
from ...core.plain_files import check_plain_file
from ...errors import DataError, UnalikeError

VARIABLE = "UNALIKE_DATA"
_folder: ContextVar[Path | None] = ContextVar("data folder", default=None)


@contextmanager
def data_folder(path: str | Path | None) -> Iterator[None]:
    """Look for files in this folder, for a while; None means where the environment variable says."""
    token = _folder.set(_folder.get() if path is None else Path(path))
    try:
        yield
    finally:
        _folder.reset(token)


@dataclass(frozen=True)
class Remote:
    """A public file and its SHA-256 sum."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rpartition("/")[2]


def local(name: str) -> Path | None:
    """The file of that name in the UNALIKE_DATA folder, if both are there."""
    folder = _folder.get() or os.environ.get(VARIABLE)
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None


def require_local(name: str, where: str) -> Path:
    """A file that is never downloaded, with `where` to get it in the error."""
    path = local(name)
    if path is None:
        raise DataError(f"{name} was not found; set {VARIABLE} to a folder that holds it ({where}).")
    return path


@contextmanager
def reading(path: Path, needs: str) -> Iterator[None]:
    """Whatever is wrong with a file becomes one sentence that says what the file `needs`."""
    try:
        check_plain_file(path, None)
        yield
    except UnalikeError:
        raise
    except Exception as error:  # parsers of damaged files fail in ways of their own
        raise DataError(f"{path.name} cannot be read ({_short(error)}); it must hold {needs}.") from None


def download(remote: Remote, wanted: str) -> Path:
    """A checked copy in the user's cache; `wanted` is the file that UNALIKE_DATA could hold instead."""
    import pooch

    try:
        cached = pooch.retrieve(
            remote.url,
            known_hash=f"sha256:{remote.sha256}",
            fname=f"{remote.sha256[:8]}-{remote.name}",
            path=cache_folder(),
            progressbar=False,
            downloader=pooch.HTTPDownloader(progressbar=_Bar(remote.name), timeout=60),
        )
    except (OSError, ValueError) as error:
        raise DataError(
            f"{remote.name} could not be downloaded ({_short(error)}); "
            f"set {VARIABLE} to a folder holding {wanted}, or connect to the network."
        ) from None
    return Path(cached)


def _short(error: Exception) -> str:
    return (
        f"{type(error).__name__}: {str(error).splitlines()[0][:80]}" if str(error) else type(error).__name__
    )


class _Bar:
    """A Rich progress bar with the four names that pooch asks of one (its own would need tqdm)."""

    def __init__(self, name: str) -> None:
        from rich.progress import DownloadColumn, Progress, TimeRemainingColumn

        columns = (*Progress.get_default_columns()[:2], DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, transient=True)
        self._task = self._progress.add_task(name, total=None)

    @property
    def total(self) -> Any:
        """The number of bytes expected."""
        return self._progress.tasks[0].total

    @total.setter
    def total(self, bytes_expected: float) -> None:
        self._progress.update(self._task, total=bytes_expected)
        self._progress.start()

    def update(self, count: int) -> None:
        """So many bytes more have arrived."""
        self._progress.advance(self._task, count)

    def reset(self) -> None:
        """Start again from nothing."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()
