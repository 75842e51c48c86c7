"""The run folder.

A run is a folder: `config.toml` (what was asked), `metrics.sqlite` (what happened), `checkpoints/` (where
to go on from), `model.safetensors` (the result), `report.html` and `plots/` (what a person looks at).
`config.toml` is written last, so a folder that has one is a run, and a folder without one was never
started. `seal.jsonl` says what each file is; a folder with a changed file is not opened.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.private_files import make_private_folder
from ..core.run_files import BESIDE, CHECKPOINTS, CONFIG, FACTS, MODEL, OURS, RECORD, check_free, check_run
from ..errors import RunError
from ..typing import Config, Document, Fields, PyTree
from .atomic import write_bytes
from .checkpoints import Checkpoints
from .configuration import read_config, write_config
from .lock import lock_folder
from .package_versions import versions
from .record import Record
from .seal import Seal, create_seal, settle
from .sealed_files import verify
from .tensors import load_tensors, restore, save_tensors


class RunFolder:
    """One run on disk; make one with :meth:`create` or :meth:`open`."""

    def __init__(self, path: Path, record: Record, document: Fields, seal: Seal) -> None:
        self.path = path
        self.is_own = seal.is_own
        """Whether this user has sealed it; whatever it names is opened only then."""
        self.record = record
        self.checkpoints = Checkpoints(path / CHECKPOINTS, _kept(record))
        self.config = {key: value for key, value in document.items() if key not in BESIDE}
        self.versions: dict[str, str] = dict(document.get("versions", {}))
        self.protection: Document = dict(document.get("protection", {}))
        """What a deployment promises its clients, where it is one."""

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: Config,
        overwrite: bool = False,
        *,
        keep: int | None = 2,
        commit_every: int = 1,
    ) -> RunFolder:
        """Start a run in a new or empty folder.

        With `overwrite`, a run that nobody is working on makes place; a folder that holds anything but a run
        is never cleared. `keep` is how many checkpoints stay, None for all of them.
        """
        folder = Path(path)
        check_free(folder, overwrite)
        _make(folder)
        with lock_folder(folder):
            _clear(folder)
            seal = create_seal(folder)
            record = Record(folder / RECORD, commit_every=commit_every)
            # Remembered, for a run that keeps its whole history must not lose it by being resumed.
            record.set_meta("keep", "all" if keep is None else str(keep))
            write_config(folder / CONFIG, {**config, "versions": versions()})
        return cls(folder, record, read_config(folder / CONFIG), seal)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        commit_every: int = 1,
        with_history: bool = False,
    ) -> RunFolder:
        """Open a run to resume it, or, `read_only`, to look at it while it may still be going on.

        A file that is not as it was sealed is refused by name, in the models kept for unlearning only
        `with_history`. What another key has sealed can be looked at, with a warning.
        """
        folder = Path(path)
        check_run(folder)
        seal = verify(folder, with_history=with_history)
        if not seal.is_own:
            _refuse_received(folder, read_only)
        document = read_config(folder / CONFIG)
        return cls(folder, _open_record(folder / RECORD, read_only, commit_every), document, seal)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process while a block runs."""
        with lock_folder(self.path):
            settle(self.path)
            yield
            settle(self.path)

    @property
    def finished(self) -> bool:
        """Whether the run reached its last round."""
        return self.record.meta().get("finished") == "true"

    @finished.setter
    def finished(self, value: bool) -> None:
        self.record.set_meta("finished", "true" if value else "false")

    def save_facts(self, facts: Fields) -> None:
        """Keep what is known of the clients without their rows, for predictions."""
        write_bytes(self.path / FACTS, json.dumps(facts, ensure_ascii=False).encode())

    def save_checkpoint(self, round: int, tree: PyTree, metadata: Mapping[str, str] | None = None) -> None:
        """Save where to go on from, after making sure that the record up to there is on the disk."""
        self.record.flush()
        self.checkpoints.save(round, tree, metadata)

    def rewind(self, round: int) -> None:
        """Go back to just after a round: forget the later rounds, checkpoints and the finish."""
        self.finished = False
        self.checkpoints.rewind(round)
        self.record.rewind(round)

    def save_model(self, tree: PyTree, metadata: Mapping[str, str] | None = None) -> Path:
        """Write the trained model and return where it is."""
        save_tensors(self.path / MODEL, tree, metadata)
        return self.path / MODEL

    def load_model(self, template: PyTree) -> PyTree:
        """The trained model, in the template's structure."""
        tensors, _ = load_tensors(self.path / MODEL)
        return restore(template, tensors)

    def close(self) -> None:
        """Close the record."""
        self.record.close()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _kept(record: Record) -> int | None:
    keep = record.meta().get("keep", "all")
    return None if keep == "all" else int(keep)


def _make(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except OSError as error:
        raise RunError(f"cannot make run folder {folder} ({error.strerror}).") from None
    with suppress(OSError):  # the folder of somebody else, who lets us write there
        folder.chmod(0o700)


def _refuse_received(folder: Path, read_only: bool) -> None:
    if not read_only:
        raise RunError(
            f"{folder} is sealed by another key; if you trust its files, take it over with `unalike runs "
            f"seal {folder}`."
        )
    warnings.warn(
        f"{folder} is sealed by another key: what it says is not verified, and nothing that it names outside "
        "itself is opened.",
        stacklevel=3,
    )


def _clear(folder: Path) -> None:
    for path in (path for pattern in OURS for path in folder.glob(pattern)):
        if not path.is_dir():
            path.unlink(missing_ok=True)


def _open_record(path: Path, read_only: bool, commit_every: int) -> Record:
    if not path.is_file() or path.stat().st_size == 0:
        raise RunError(f"record {path} is missing or empty; the run cannot be read.")
    record = Record(path, read_only=read_only, commit_every=commit_every)
    try:
        record.check()
    except RunError:
        record.close()
        raise
    return record
