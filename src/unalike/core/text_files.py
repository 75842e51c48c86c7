"""Reading a text file that a user named."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from .plain_files import check_plain_file


def read_text(path: Path, what: str, needs: str) -> str:
    """The text of a file, without blank lines at its end; `what` it is and `needs` are words for errors."""
    try:
        check_plain_file(path)
        text = path.read_text(encoding="utf-8-sig").rstrip()
    except UnicodeDecodeError:
        raise ConfigError(
            f"the {what} {str(path)!r} cannot be read: it is not text in UTF-8; save it as UTF-8."
        ) from None
    except OSError as error:
        raise ConfigError(f"the {what} {str(path)!r} cannot be read ({error}).") from None
    if not text:
        raise ConfigError(f"the {what} {path.name} is empty; it needs {needs}.")
    return text
