"""Exporting the model of a finished run folder to other tools."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from ..training.export import export
from .open import open_run


def export_folder(folder: Path, path: Path, format: str, client: str | None = None) -> Path:
    """Write the model of a finished run, which is not changed, as a file of that format."""
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; say which file to write with --out.")
    if folder.resolve() in path.resolve().parents:
        raise ConfigError(f"{folder} holds the files of a run only; write {path.name} somewhere else.")
    return export(open_run(folder), path, format, client)
