"""`comparison.toml`: what a comparison was asked to compare.

With it the same command finds the comparison that it began, and a finished one can be looked at again. A
search for settings has a `tuning.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ..core.private_files import make_private_folder
from ..core.run_files import CONFIG, SEAL
from ..errors import ConfigError, RunError
from ..runs.comparison_tables import ANSWER
from ..runs.configuration import plain, read_config, write_config
from ..runs.sealed_files import seal_again, verify
from ..training.early_stopping import StopRule
from ..typing import Document
from .config import Experiment
from .outside_paths import check_received_settings
from .targets import read_target
from .variations import check_options, variant, vary

ASKED, TUNING = "comparison.toml", "tuning.toml"


class ComparisonFile(BaseModel):
    """The experiment, and what differs between its runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithms: tuple[str, ...]
    vary: tuple[str, ...] = ()
    seeds: int = 1
    metric: str | None = None
    baseline: str | None = None
    target: str | None = None
    experiment: Experiment

    @property
    def all_seeds(self) -> range:
        """The seeds, from that of the experiment."""
        return range(self.experiment.seed, self.experiment.seed + self.seeds)

    @property
    def rule(self) -> StopRule | None:
        """The target, taken apart."""
        return None if self.target is None else read_target(self.target)

    def variants(self) -> dict[str, Experiment]:
        """What is compared, by name."""
        check_options(self.experiment, self.algorithms)
        return vary({name: variant(self.experiment, name) for name in self.algorithms}, self.vary)


class TuningFile(BaseModel):
    """The experiment, and how settings of methods are searched."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithms: tuple[str, ...]
    budget: int
    search: str
    rates: tuple[float, float]
    choose: str
    prune: bool
    seeds: int
    experiment: Experiment


Asked = ComparisonFile | TuningFile


def write_asked(folder: Path, asked: Asked) -> None:
    """Say in a folder what is compared there; answers to other questions are no longer its answers."""
    (folder / ANSWER).unlink(missing_ok=True)
    if (folder / SEAL).is_file():
        if not verify(folder).is_own:
            raise RunError(
                f"{folder} is sealed by another key; choose another --out, or take it over with `unalike "
                f"runs seal {folder}`."
            )
    else:
        make_private_folder(folder)
        folder.chmod(0o700)
        seal_again(folder)
    write_config(folder / _file(asked), asked.model_dump())


def read_asked(folder: Path) -> ComparisonFile:
    """What is compared in a folder."""
    if (folder / TUNING).is_file():
        raise RunError(
            f"{folder} holds a search for settings; the same `unalike tune` with --out {folder} reads its "
            "trials and runs, and writes its page again."
        )
    if not (folder / ASKED).is_file():
        raise RunError(f"{folder} holds neither a run ({CONFIG}) nor a comparison ({ASKED}).")
    seal = verify(folder)
    values: Document = read_config(folder / ASKED)
    try:
        asked = ComparisonFile(**values)
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ConfigError(f"{folder / ASKED} describes no comparison: {name} is not possible.") from None
    for chosen in () if seal.is_own else asked.variants().values():
        check_received_settings(folder, chosen.model_dump())
    return asked


def begun(folders: Iterator[Path], asked: Asked) -> Path:
    """Of folders that may be used one after the other, the first that is free or where this was begun."""
    return next(folder for folder in folders if not folder.exists() or _was_begun(folder, asked))


def _was_begun(folder: Path, asked: Asked) -> bool:
    if not (folder / _file(asked)).is_file() or (folder / ANSWER).exists():
        return False
    try:
        return read_config(folder / _file(asked)) == plain(asked.model_dump())
    except RunError:
        return False


def _file(asked: Asked) -> str:
    return ASKED if isinstance(asked, ComparisonFile) else TUNING
