"""`config.toml` of a run: written once, read at resume."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from ..errors import RunError
from ..typing import Config, Document
from .atomic import write_bytes


def write_config(path: Path, config: Config) -> None:
    """Write a configuration; options that are None are left out, for TOML has no word for nothing."""
    write_bytes(path, tomli_w.dumps(plain(config)).encode())


def read_config(path: Path) -> Document:
    """Read a configuration, or say in one sentence why that cannot be done."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise RunError(f"{path.parent} is not a run folder: it has no {path.name}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"configuration {path} is damaged ({error}).") from None
    except OSError as error:
        raise RunError(f"cannot read configuration {path} ({error.strerror}).") from None


def plain(value: object) -> Any:
    """The same with TOML's own types only, as it is read again."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value if item is not None]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value
