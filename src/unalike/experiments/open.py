"""Opening a run folder, without its data where that is possible.

The words of the experiment say which model and method it was; `clients.json` what rows look like, how columns
became features and what classes are called; the newest checkpoint what the server and the clients remember.
Rows are read again only where a method predicts from them, or where that is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from ..algorithms import Algorithm
from ..algorithms.shared.local_state import keep_state
from ..core.precision import precision
from ..core.run_files import FACTS, MODEL, UNLEARNING
from ..data import Federation
from ..data.facts import read_facts
from ..data.new_rows import with_preparation
from ..engine import DebugEngine, LocalEngine, Memories, Setting, message_template, reply_template
from ..engine.base import root_key
from ..errors import ConfigError, DataError, RunError, UnalikeError
from ..models import Task
from ..runs import RunFolder
from ..training.best_model import load_best
from ..training.checkpoint import load_checkpoint
from ..training.history import History
from ..training.newcomers import set_apart
from ..training.run import Run
from ..trust.unlearning.requests import RequestLog
from .build import check, make_task
from .config import Experiment, make_experiment
from .outside_paths import OPENED_FIRST, check_received
from .remaining_rows import remaining_rows


def open_run(
    path: str | Path,
    *,
    data: bool | None = None,
    model: Literal["last", "best"] = "last",
    prepare: str | Path | None = None,
    task: Task | None = None,
    algorithm: Algorithm | None = None,
    federation: Federation | None = None,
) -> Run:
    """The run of a folder, to predict with and to look at; the folder is not changed.

    model: the last one, or the best one that was evaluated.
    data: whether to read the clients' rows again; when not given, only where the method predicts from them.
    prepare: the file by which the nodes of a deployment have prepared their tables, which the server of the
        run has not seen.
    task, algorithm, federation: for runs that were made in Python, whose folder cannot say what they were.
    """
    folder = RunFolder.open(path, read_only=True)
    experiment = None if folder.config.get("made_by") else make_experiment(folder.config)
    check_received(folder, OPENED_FIRST)
    if RequestLog(folder.path / UNLEARNING).pending is not None:
        raise RunError(
            f"{path} is forgetting clients and has no model; go on with `unalike forget {path} --resume`."
        )
    known = federation or read_facts(folder.path / FACTS)
    known = known if prepare is None else with_preparation(known, Path(prepare))
    task = task or make_task(_read_experiment(folder, experiment), known)
    method = algorithm or _method(_read_experiment(folder, experiment))
    needed = method.needs.rows_to_predict if data is None else data
    rows = federation if federation is not None else _rows(folder, experiment) if needed else None
    with precision(method.needs.float64):
        run = _open_run(folder, rows or known, task, method, experiment, rows is not None)
        return run if model == "last" else replace(run, kept=load_best(folder.path, run.message))


def _open_run(
    folder: RunFolder,
    federation: Federation,
    task: Task,
    algorithm: Algorithm,
    experiment: Experiment | None,
    rows_here: bool,
) -> Run:
    ready = keep_state(algorithm, task).prepare(task, federation)
    seed = 0 if experiment is None else experiment.seed
    setting = Setting(federation, task, ready, seed)
    first = ready.init(task, root_key(seed, "init"))
    found = load_checkpoint(folder, first, message_template(setting))
    alone = (folder.path / MODEL).exists() and not _remembers(ready)
    if found is None and not alone:
        raise RunError(f"{folder.path} has no checkpoint, without which {ready.name} cannot predict.")
    state, done = (first, folder.record.last_round() or 0) if found is None else (found.state, found.round)
    history = History(lambda server: ready.messages(task, server), False)
    history.add(done, state)
    messages = history.messages(done)
    memories = Memories(reply_template(setting, messages.of(0)).memory, len(federation))
    real = experiment is not None and experiment.engine == "flower"  # whose clients keep their memories
    if found is not None and not real:
        memories.restore(found.memory)
    engine = LocalEngine(setting) if rows_here else DebugEngine(setting)
    kept = folder.load_model(messages.tree) if (folder.path / MODEL).exists() else None
    return Run(setting, engine, state, memories, history, folder.record, folder, kept, rows_here)


def _remembers(algorithm: Algorithm) -> bool:
    """Whether predictions need more than the model that a folder keeps."""
    return algorithm.personalized or algorithm.decentralized


def _method(experiment: Experiment) -> Algorithm:
    """The method, wherever it was trained: predictions are made here."""
    return check(experiment.model_copy(update={"engine": "local"})).algorithm


def _read_experiment(folder: RunFolder, experiment: Experiment | None) -> Experiment:
    if experiment is None:
        raise ConfigError(
            f"{folder.path} was made in Python, so its words do not say what was trained; give task and "
            f"algorithm, such as Run.open({str(folder.path)!r}, task=task, algorithm=algorithm)."
        )
    return experiment


def _rows(folder: RunFolder, experiment: Experiment | None) -> Federation:
    if experiment is None:
        raise ConfigError(f"{folder.path} was made in Python; give its federation to read rows from.")
    check_received(folder)
    try:
        loaded = remaining_rows(experiment, RequestLog(folder.path / UNLEARNING).forgotten)
    except UnalikeError as error:
        raise DataError(f"the data of {folder.path} cannot be found again: {error}") from None
    return set_apart(loaded, experiment.unseen, experiment.seed)[0] if experiment.unseen else loaded
