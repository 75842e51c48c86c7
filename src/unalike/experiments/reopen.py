"""Reopened runs: a finished run with its data, without changing its folder.

The folder's files are copied and the copy is resumed, which takes no step because the run is finished: server
state and clients' memories come from the last checkpoint, rows from the experiment's words. That these are
the rows of before is checked by the losses that the record has.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..core.run_files import CHECKPOINTS, CONFIG, MODEL, RECORD, UNLEARNING, check_run
from ..errors import DataError, RunError, UnalikeError
from ..runs import RunFolder
from ..runs.sealed_files import seal_again
from ..training.fingerprint import keep_fingerprint, read_fingerprint
from ..training.run import Run
from .config import Experiment, make_experiment
from .outside_paths import check_received
from .run import run_experiment

_TOLERANCE = 1e-3
"""Relative difference of a client's loss, now and in the record, that other machines' rounding explains."""


@contextmanager
def reopen(path: str | Path) -> Iterator[tuple[Experiment, Run]]:
    """The experiment and the run of a finished folder, which is not changed."""
    folder = Path(path)
    check_run(folder)
    with RunFolder.open(folder, read_only=True) as opened:
        experiment = read_finished_experiment(opened)
    with tempfile.TemporaryDirectory() as place:
        copied = _copy(folder, Path(place) / "run")
        with RunFolder.open(copied) as again:
            recorded = again.record.client_metrics()
            # What only watches uploads is left out here; rows, seed and code must be those of before.
            kept = read_fingerprint(again)
            keep_fingerprint(again, {name: kept[name] for name in kept if name != "settings"})
            try:
                run = run_experiment(experiment, again, resume=True)
            except UnalikeError as error:
                words = str(error).replace(str(copied), str(folder))
                raise DataError(f"{folder} cannot be opened with its data again: {words}") from None
            _check_rows(folder, recorded, run)
            yield experiment, run


def read_finished_experiment(opened: RunFolder) -> Experiment:
    """The experiment of a finished run that was simulated here, which need not be forgotten from once it is
    looked at; raises where it cannot be looked at again."""
    path = opened.path
    if opened.config.get("made_by"):
        raise RunError(
            f"{path} was made in Python, so its data cannot be found again; there, use "
            "unalike.experiments.audit.audit_run(run)."
        )
    if (path / UNLEARNING / "requests.json").exists():
        raise RunError(
            f"clients of {path} were forgotten, whose rows must not be read again; it cannot be reopened."
        )
    check_received(opened)
    experiment = check_experiment(path, make_experiment(opened.config))
    if opened.finished and not opened.checkpoints.rounds():
        raise RunError(f"the checkpoints of {path} were deleted; it cannot be reopened.")
    if not opened.finished:
        raise RunError(f"{path} is not finished; finish it first with `unalike resume {path}`.")
    return experiment.model_copy(update={"unlearning": None, "ledger": None})


def check_experiment(path: Path, experiment: Experiment) -> Experiment:
    """The experiment of that file or folder; raises where its rows are not here all the time."""
    if experiment.engine == "flower":
        raise RunError(
            f"the clients of {path} are elsewhere, with their rows; only simulated runs can be reopened."
        )
    if experiment.stream is not None:
        raise RunError(
            f"the rows of {path} arrived while training; only runs without a stream can be reopened."
        )
    return experiment


def _copy(folder: Path, copied: Path) -> Path:
    """The files that a run goes on from, sealed anew: they were verified when the folder was opened."""
    copied.mkdir(mode=0o700)
    for name in (CONFIG, RECORD, f"{RECORD}-wal", MODEL):
        if (folder / name).exists():
            shutil.copy2(folder / name, copied / name)
    shutil.copytree(folder / CHECKPOINTS, copied / CHECKPOINTS)
    seal_again(copied)
    return copied


def _check_rows(folder: Path, recorded: dict[str, np.ndarray], run: Run) -> None:
    """Raise where a client's test loss is not what it was: its rows are others now."""
    if "test_loss" not in recorded:
        return
    clients, before = recorded["client"].astype(np.int64), recorded["test_loss"]
    if clients.max(initial=0) >= len(run.setting.federation):
        raise DataError(f"the data are not those that {folder} was trained on: there are fewer clients.")
    now = run.evaluate("test")["loss"][clients]
    other = np.isnan(now) != np.isnan(before)
    other |= np.abs(now - before) > _TOLERANCE * np.maximum(np.abs(before), 1e-3)
    if other.any():
        first = int(np.argmax(other))
        name = run.setting.federation.name(int(clients[first]))
        raise DataError(
            f"the data are not those that {folder} was trained on: the test loss of client {name} was "
            f"{before[first]:.4g} and is {now[first]:.4g}."
        )
