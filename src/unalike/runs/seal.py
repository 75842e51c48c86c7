"""The seal of a run folder: a chained, authenticated log of digests.

`seal.jsonl` has a line for every sealed file that was written or removed, with the file's SHA-256 digest.
Each line ends with an HMAC of itself and of the line before it under the user's key, so that no line can be
changed, left out or moved. A line is on the disk before its file takes its place: after a crash the file of
the last line is the new one or the one before, and all others are as their last lines say.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from ..core.run_files import BEST, CHECKPOINTS, CONFIG, FACTS, MODEL, SEAL, UNLEARNING
from ..errors import RunError
from ..typing import Document
from .seal_key import NO_KEY, key_name, user_key

FORMAT = 1
NEEDED = (CONFIG, FACTS, MODEL, BEST, "comparison.toml", "tuning.toml", f"{UNLEARNING}/requests.json")
"""Sealed files whose absence changes what a folder means."""
SEALED = (
    *NEEDED,
    f"{CHECKPOINTS}/round-*.safetensors",
    f"{UNLEARNING}/*.json",
    f"{UNLEARNING}/branch-*/round-*.safetensors",
)
"""Patterns of files that are sealed; the record is sealed inside its own transactions."""
READY = "*.toml"
"""Experiments that a search leaves ready to run: known as the user's own until they are edited."""
_DEPTH = 3
"""Folders between a run folder and its deepest sealed file, and one."""
_LAST = 1 << 12
"""Bytes in which the last line of a log surely is."""


@dataclass(frozen=True)
class Seal:
    """What a folder's log says."""

    run: str
    """A random name of the run, which its record holds, too."""
    key: str
    """The name of the key."""
    is_own: bool
    """Whether it was sealed with the key of this user."""
    digests: dict[str, tuple[str | None, ...]]
    """The digests that a file may have, None where it may be absent."""
    last: str | None = None
    """The file of the last line, which may not have taken its place."""


def is_sealed_name(name: str) -> bool:
    """Whether a file of a run folder, by its path there, is sealed.

    >>> is_sealed_name("config.toml"), is_sealed_name("report.html")
    (True, False)
    """
    return any(name.count("/") == pattern.count("/") and fnmatch(name, pattern) for pattern in SEALED)


def create_seal(folder: Path) -> Seal:
    """Begin a log in a folder, in place of any that is there."""
    key, run = user_key(), secrets.token_hex(16)
    head = {"format": FORMAT, "run": run, "key": key_name(key)}
    temporary = folder / f".{SEAL}.{os.getpid()}.tmp"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(_line(head, "", key))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / SEAL)
    return Seal(run, key_name(key), True, {})


def find_sealed_folder(path: Path) -> Path | None:
    """The nearest folder above a file that has a seal, if there is one."""
    return next((folder for folder in path.parents[:_DEPTH] if (folder / SEAL).is_file()), None)


def note_file(path: Path, content: Path | None) -> None:
    """Write ahead that a file will be what `content` is, or be gone; only where it is a sealed one."""
    folder = find_sealed_folder(path)
    if folder is None:
        return
    name = path.relative_to(folder).as_posix()
    if is_sealed_name(name) or fnmatch(name, READY):
        _append(folder, {"file": name, "sha256": None if content is None else file_digest(content)})


def read_seal(folder: Path) -> Seal:
    """What the log of a folder says; refused if it was changed, or if there is none."""
    path = folder / SEAL
    if path.is_symlink() or not path.is_file():
        raise RunError(
            f"{folder} has no seal ({SEAL}): an older Unalike made it, or the seal was deleted. If you trust "
            f"its files, seal them with `unalike runs seal {folder}`."
        )
    whole = path.read_bytes().rpartition(b"\n")[0]  # a line that was cut off by a crash was never valid
    try:
        lines = [json.loads(line) for line in whole.split(b"\n")]
        return _read_lines(lines)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise RunError(
            f"{path} was changed after it was written; if you did that, seal the folder again with "
            f"`unalike runs seal {folder}`."
        ) from None


def file_digest(path: Path) -> str:
    """The SHA-256 digest of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_own_file(path: Path) -> bool:
    """Whether a file of a sealed folder is as this user's programs wrote it."""
    if not (path.parent / SEAL).is_file() or path.is_symlink():
        return False
    seal = read_seal(path.parent)
    return seal.is_own and file_digest(path) in seal.digests.get(path.name, ())


def settle(folder: Path) -> None:
    """After a crash, note whether the file of the last line has taken its place; for the folder's holder."""
    seal = read_seal(folder)
    if seal.last is None or len(seal.digests[seal.last]) < 2:
        return
    path = folder / seal.last
    now = file_digest(path) if path.is_file() else None
    if now in seal.digests[seal.last]:  # otherwise it is damaged, and stays refused
        _append(folder, {"file": seal.last, "sha256": now})


def changed_file_message(folder: Path, name: str) -> str:
    """What is said of a file that is not the one that was sealed."""
    return (
        f"{folder / name} was changed after it was written, or belongs to another run; bring the file back, "
        f"or, if the change is intended, seal it with `unalike runs seal {folder}`."
    )


def _read_lines(lines: list[Document]) -> Seal:
    head, key = lines[0], user_key()
    if head["format"] != FORMAT or not isinstance(head["run"], str):
        raise ValueError("of another format")
    is_own = head["key"] == key_name(key)
    if is_own or head["key"] == NO_KEY:
        _check_codes(lines, key if is_own else b"")
    digests: dict[str, tuple[str | None, ...]] = {}
    before: tuple[str | None, ...] = ()
    last = None
    for line in lines[1:]:
        last = str(line["file"])
        before = digests.get(last, (None,))[:1]
        digests[last] = (line["sha256"],)
    if last is not None:
        digests[last] = tuple(dict.fromkeys((*digests[last], *before)))
    return Seal(head["run"], head["key"], is_own, digests, last)


def _check_codes(lines: list[Document], key: bytes) -> None:
    before = ""
    for line in lines:
        code = line.pop("code")
        if not hmac.compare_digest(code, _code(line, before, key)):
            raise ValueError("not authentic")
        before = code


def _append(folder: Path, line: Document) -> None:
    """Add a line, on the disk when this returns; what a crash left of another one goes."""
    with (folder / SEAL).open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST))
        tail = file.read()
        whole, newline, torn = tail.rpartition(b"\n")
        last = whole.rpartition(b"\n")[2]
        if not newline or not last:
            raise RunError(f"{folder / SEAL} is damaged; seal the folder again with `unalike runs seal`.")
        file.seek(size - len(torn))
        file.truncate()
        before = json.loads(last)["code"]
        file.write(_line(line, before, user_key()))
        file.flush()
        os.fsync(file.fileno())


def _line(content: Document, before: str, key: bytes) -> bytes:
    return json.dumps({**content, "code": _code(content, before, key)}).encode() + b"\n"


def _code(content: Document, before: str, key: bytes) -> str:
    text = before + json.dumps(content, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
