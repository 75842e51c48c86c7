"""Child processes of Flower that live exactly as long as the process that needs them.

Flower's process is started with a pipe as its standard input. Nothing is ever written to it: when its owner
ends, in whatever way, the operating system closes the pipe, and `launcher.py` on the other side then ends
Flower. So no orphan is left behind, even by `kill -9`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import ConfigError
from .flower import environment

_LAUNCHER = Path(__file__).with_name("launcher.py")
_LARGEST_LOG = 10_000_000
_COLORS = re.compile(r"\x1b\[\d+m")


class LogFollower:
    """Reads what was added to a text file since the last look, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0

    def lines(self) -> list[str]:
        """The new lines, without their ends."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            found, newline, _ = file.read().rpartition(b"\n")
        self._position += len(found) + len(newline)
        return found.decode(errors="replace").splitlines() if newline else []


class Child:
    """A process of Flower's that ends with this one; what it prints goes to a log file."""

    def __init__(self, arguments: Sequence[str], folder: Path, log_name: str) -> None:
        self.log = folder / log_name
        private_folder(folder)
        _rotate(self.log)
        self.news = LogFollower(self.log)
        # -P: the folder of the launcher must not become a place to import from.
        command = [sys.executable, "-P", str(_LAUNCHER), *arguments]
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C in a terminal is for us, and we then stop the child in order.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment(folder),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def stop(self, patience: float = 5.0) -> None:
        """End the process: asked once (at a second request Flower drops everything), then forced."""
        if self.alive():
            self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def last_words(self) -> str:
        """Why the process ended, as far as it said so: its last error, or else its last line."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 10_000))
            text = _COLORS.sub("", file.read().decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [number for number, line in enumerate(lines) if "ERROR" in line]
        told = lines[errors[-1] :][:3] if errors else lines[-1:]
        return " ".join(line for line in told if "Exit Code" not in line)


def private_folder(folder: Path) -> Path:
    """The folder itself, made if need be, and closed to other users of the machine."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise ConfigError(f"cannot use folder {folder} ({error.strerror}).") from error
    return folder


def new_secret(path: Path) -> bytes:
    """A fresh random secret, written to a file that only its owner can read."""
    secret = os.urandom(32).hex().encode()
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)
    return secret


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > _LARGEST_LOG:
        log.replace(log.with_name(log.name + ".old"))
