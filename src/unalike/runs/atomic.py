"""Atomic replacement of files: a crash leaves the old one or the new one, never half of each.

Write to a temporary file in the same folder, force it to the disk, rename it over the old one, and force the
folder to the disk. POSIX makes the rename indivisible; the two syncs make it survive a power cut. Files, and
folders that are made for them, are open to their owner only. The seal of a run folder lists a file before it
takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from ..core.private_files import FILE, make_private_folder
from ..errors import RunError
from .seal import note_file

_NO_SPACE = ("os error 28", "os error 122", "No space left", "Disk quota exceeded")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path for the block to write; it takes the place of `path` only if the block ends well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        make_private_folder(path.parent)
        yield temporary
        temporary.chmod(FILE)
        sync(temporary)
        note_file(path, temporary)
        temporary.replace(path)
        sync(path.parent)
    except (OSError, SafetensorError) as error:
        raise _write_error(path, error) from error
    finally:
        _discard(temporary)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def remove_file(path: Path) -> None:
    """Delete a file, if it is there, so that the seal of its folder does not take it back."""
    if path.is_file():
        note_file(path, None)
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until the operating system has put a file, or a folder's list of files, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files of writers that were killed; only the holder of the folder may."""
    for leftover in folder.glob(".*.tmp"):
        _discard(leftover)


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # what stopped the write also stops the tidying; the first error is the one to tell


def _write_error(path: Path, error: Exception) -> RunError:
    if any(words in str(error) for words in _NO_SPACE):
        return RunError(f"disk full while writing {path}: free some space, the previous file is untouched.")
    return RunError(f"cannot write {path} ({error}); the previous file is untouched.")
