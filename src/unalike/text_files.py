"""How is a text file read that a user named?"""

from __future__ import annotations

from pathlib import Path

from .errors import ConfigError


def read_text(path: Path, what: str, needs: str) -> str:
    """The text of a file, without blank lines at its end; `what` it is and `needs` are words for errors."""
    try:
        text = path.read_text(encoding="utf-8-sig").rstrip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"the {what} {str(path)!r} cannot be read ({error}).") from None
    if not text:
        raise ConfigError(f"the {what} {path.name} is empty; it needs {needs}.")
    return text
