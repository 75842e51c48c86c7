"""Warnings before a run folder is sealed: changed files, another key, paths outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ..core.run_files import CONFIG
from ..errors import RunError
from ..typing import Document


@dataclass(frozen=True)
class FolderFacts:
    """How a folder differs from its seal, and what it names."""

    seal: str
    """own, another key, or none."""
    changes: dict[str, str]
    """Files that are not as they were sealed, and how."""
    outside: dict[str, str]
    """Settings that lead out of the folder."""

    def as_dict(self) -> Document:
        """For machines."""
        return asdict(self)

    def sentences(self) -> Iterator[str]:
        """For a person."""
        yield {
            "own": "The folder is sealed with your key.",
            "another key": "The folder is sealed by another key.",
            "none": "The folder has no seal that can be read; all its files are listed.",
        }[self.seal]
        for name, how in self.changes.items():
            yield f"  {how}: {name}"
        if not self.changes:
            yield "  All files are as they were sealed."
        for name, value in self.outside.items():
            yield f"  {name} leads out of the folder: {value}"


def describe_folder(folder: Path) -> FolderFacts:
    """What a person should know of a folder before sealing it."""
    from ..experiments.comparison_file import ASKED, TUNING
    from ..experiments.outside_paths import outside_settings
    from ..runs.configuration import read_config
    from ..runs.seal import read_seal
    from ..runs.sealed_files import changes

    file = next((folder / name for name in (CONFIG, ASKED, TUNING) if (folder / name).is_file()), None)
    if file is None:
        raise RunError(f"{folder} holds neither a run ({CONFIG}) nor a comparison ({ASKED}).")
    found = {change.name: change.how for change in changes(folder)}
    try:
        seal = "own" if read_seal(folder).is_own else "another key"
    except RunError:
        seal = "none"
    settings = read_config(file)
    settings = settings.get("experiment", settings)
    outside = {name: str(settings[name]) for name in outside_settings(settings, folder)}
    return FolderFacts(seal, found, outside)
