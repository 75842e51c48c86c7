"""The user's key for message authentication codes of run folders.

The key is 32 random bytes in the user's configuration folder, readable by nobody else. It is made when it is
first needed. Where it cannot be kept, seals are plain digests, which find accidents but which anybody can
make.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..errors import RunError

NO_KEY = "none"
"""In place of a key's name, where a seal is made without one."""
_LENGTH = 32


def key_path() -> Path:
    """Where the key is: `unalike/seal.key` below $XDG_CONFIG_HOME, %APPDATA% or ~/.config."""
    place = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
    return (Path(place) if place else Path("~/.config").expanduser()) / "unalike" / "seal.key"


def user_key() -> bytes:
    """The user's key, made if there is none; empty, with a warning, where none can be kept."""
    path = key_path()
    try:
        return _read(path) if path.exists() else _make(path)
    except OSError as error:
        _warn(f"{path} ({error.strerror or error})")
        return b""


def key_name(key: bytes) -> str:
    """What identifies a key without disclosing it.

    >>> key_name(b""), key_name(b"k" * 32)
    ('none', 'ed55da8b0ea2bc88')
    """
    return hashlib.sha256(b"unalike seal key" + key).hexdigest()[:16] if key else NO_KEY


def _read(path: Path) -> bytes:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise RunError(f"others can read the key {path}; make it yours alone with `chmod 600 {path}`.")
    key = path.read_bytes()
    if len(key) != _LENGTH:
        raise RunError(
            f"{path} is not a key of {_LENGTH} bytes; move it away to have a new one, and seal your runs "
            "again with `unalike runs seal FOLDER`."
        )
    return key


def _make(path: Path) -> bytes:
    """Make the key beside its place and link it there, so that two processes make one key."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".seal.key.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_LENGTH))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was quicker, and its key is everybody's
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return _read(path)


@cache
def _warn(why: str) -> None:
    warnings.warn(
        f"no key can be kept in {why}; run folders are sealed by plain digests, which anybody can make.",
        stacklevel=3,
    )
