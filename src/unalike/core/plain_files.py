"""Plain files only: no pipes, devices or folders, and of a sensible size.

A path from a user may lead to a folder, a pipe that nobody writes to, a device without an end, or a file
that claims more than memory holds. All of that is known before the first byte is read: everything that
reads a user's file asks here first.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

LARGEST_TEXT = 1 << 28
"""Bytes of a file of settings, times or traces."""
SURELY_FINE = 1 << 31
"""Bytes that a compressed file may always unfold to, if they are free."""
MOST_UNFOLDED = 100
"""Bytes that one byte of a file may unfold to beyond that: honest arrays stay below, zeros reach 1000."""
_UNKNOWN = 1 << 34
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_plain_file(path: Path, largest: int | None = LARGEST_TEXT) -> int:
    """The size in bytes of a plain file that may be read; `OSError` in a few words for anything else.

    Links are followed. With `largest` None, a file may be as large as the memory that is free.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise OSError(error.strerror) from None
    except ValueError:  # a NUL in the name
        raise OSError("no file can have this name") from None
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "something else")
        raise OSError(f"it is {kind}, not a file")
    if not os.access(path, os.R_OK):
        raise OSError("you have no permission to read it")
    most = free_memory() if largest is None else largest
    if found.st_size > most:
        raise OSError(f"it has {in_words(found.st_size)}, more than the {in_words(most)} that can be read")
    return found.st_size


def check_unfolded(unfolded: int, held: int) -> None:
    """`OSError` if what a file of `held` bytes unfolds to cannot be meant, or does not fit into memory.

    Beyond 2 GiB it may be at most 100 times the file, and it is never more than what is free.
    """
    if unfolded > SURELY_FINE and unfolded > MOST_UNFOLDED * held:
        raise OSError(
            f"it would unfold from {in_words(held)} to {in_words(unfolded)}, which no honest data do"
        )
    if unfolded > free_memory():
        raise OSError(f"it unfolds to {in_words(unfolded)}, more than the {in_words(free_memory())} free")


def free_memory() -> int:
    """Bytes of memory that can still be had; 16 GiB where the system does not tell."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return _UNKNOWN


def in_words(size: int) -> str:
    """A number of bytes as people say it.

    >>> in_words(1536), in_words(3 << 30)
    ('1.5 KiB', '3.0 GiB')
    """
    if size < 1024:
        return f"{size} bytes"
    power = min((size.bit_length() - 1) // 10, 6)
    return f"{size / 1024**power:,.1f} {'KMGTPE'[power - 1]}iB"
