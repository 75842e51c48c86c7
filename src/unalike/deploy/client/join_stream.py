"""Joining as a streaming node before any rows have arrived.

The first rows say what columns and labels are called, and are cut into training and test rows as its owner
says: those of `--data`, or else of the first file that appears. Test rows stay, and are never trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...data import Federation
from ...data.files.growing_folder import GrowingFolder
from ...errors import ConfigError, DataError
from ...experiments.config import Experiment
from .arriving_rows import read_arrival
from .bounded_memory import make_bounded_memory
from .row_stream import Log, RowStream

PAUSE = 0.5
"""Seconds between two looks for the first file."""


def check_stream(folder: Path | None, memory: str | None, private: bool, secure_only: bool) -> None:
    """Raise where the words about a stream do not go together."""
    if folder is None:
        if memory is not None:
            raise ConfigError(f"--memory {memory} is about rows that come; say where with --stream FOLDER.")
        return
    if memory is None:
        raise ConfigError("say how many rows are kept beside --stream, such as --memory 200.")
    make_bounded_memory(memory)
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r} for rows to appear in.")
    if private or secure_only:
        what = "--local-dp" if private else "--secure-only"
        raise ConfigError(
            f"a node with --stream says how many rows it holds beside every upload, which {what} does not "
            "protect; leave out one of the two."
        )


def open_stream(
    folder: Path,
    memory: str,
    experiment: Experiment,
    first: Federation | None,
    log: Log,
    stopped: Callable[[float], bool],
) -> tuple[Federation, RowStream] | None:
    """The first rows and the stream that begins with them; None if somebody asks to stop before they come
    (`stopped` waits so many seconds, and says whether)."""
    if first is not None and Path(experiment.data.removeprefix("folder:")).absolute() == folder.absolute():
        raise ConfigError("--data and --stream are the same folder; leave out --data.")
    files, known = GrowingFolder(folder), None
    files.look()
    if first is None:
        found = first_file(files, experiment, log, stopped)
        if found is None:
            return None
        known, first = found
    stream = RowStream(first, files, memory, experiment.label, experiment.seed, log)
    if known is not None:
        stream.settle(known)
    return first, stream


def first_file(
    files: GrowingFolder, experiment: Experiment, log: Log, stopped: Callable[[float], bool]
) -> tuple[Path, Federation] | None:
    """Wait for the first file that can be read."""
    log(f"waiting for rows in {files.folder}; the first file says what columns and labels are called.")
    cut = (experiment.test_fraction, experiment.validation_fraction, experiment.seed)
    said: set[str] = set()
    while not stopped(PAUSE):
        for path in files.look():
            try:
                found = read_arrival(path, experiment.label, *cut)
            except DataError as error:
                if str(error) not in said:
                    log(f"{path.name} cannot be read yet: {error}")
                said.add(str(error))
                continue
            if files.unchanged(path):
                return path, found
    return None
