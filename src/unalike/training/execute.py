"""Executing a plan: prepare, open the folder, go through the loop, save."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TypeAlias

from ..core.precision import precision
from ..data.facts import facts_of
from ..engine import BlockLimits, Setting
from ..engine.compilation_cache import forget_programs
from ..errors import ConfigError
from ..runs import Record, RunFolder
from ..typing import Config, Fields, Message
from .best_model import BestModel, judging_metric
from .blocks import Blocks, choose_limits
from .checkpoint import Checkpointer
from .divergence import Divergence, warn_of_divergence
from .evaluation import Evaluation
from .final_numbers import note_final_numbers
from .fingerprint import Fingerprint, check_same, data_fingerprint, keep_fingerprint
from .interrupts import Interrupts
from .loop import train_rounds
from .observers import Observers, TrainingInfo
from .plan import TrainingPlan
from .prepare import Prepared, plan_fingerprint, prepare_plan
from .recorder import Describe, Recorder
from .regret import check_regret, note_regret
from .run import Run
from .stream_weights import note_stream_weights
from .training_state import Progress

Out: TypeAlias = str | Path | RunFolder | None
"""Where a run is written; nowhere when None."""
FROM_PYTHON: Fields = {"made_by": "unalike.train"}


def execute(
    plan: TrainingPlan,
    out: Out = None,
    resume: bool = False,
    config: Config = FROM_PYTHON,
    overwrite: bool = False,
) -> Run:
    """Train a plan whose parts are fitted to its clients; see :func:`unalike.training.fit_plan.fit_plan`.

    Args:
        plan: what is to be trained.
        out: the run folder, to make or to resume.
        resume: whether to go on from the folder's newest checkpoint.
        config: the settings that a new folder remembers.
        overwrite: whether a new folder replaces a run that is there.
    """
    if resume and out is None:
        raise ConfigError("resume=True needs the run folder to resume, as out.")
    forget_programs()
    with precision(plan.algorithm.needs.float64):
        fingerprint: Fingerprint = {} if out is None else plan_fingerprint(plan)
        with prepare_plan(plan, resume, kept=out is not None) as ready:
            # Last, so that a mistake in anything above leaves nothing on the disk.
            folder = _open_folder(out, resume, config, overwrite)
            with folder.locked() if folder else nullcontext():
                if folder:
                    if isinstance(plan.engine, str):  # real clients keep their rows
                        fingerprint |= data_fingerprint(plan.federation)
                    if resume:
                        check_same(folder, fingerprint)
                    keep_fingerprint(folder, fingerprint)
                    folder.save_facts(facts_of(plan.federation))
                return _train(ready, folder, resume)


def _train(ready: Prepared, folder: RunFolder | None, resume: bool) -> Run:
    plan, engine, steps, now = ready.plan, ready.engine, ready.steps, ready.now
    who, keeper, observers = plan.participation, plan.keeper, Observers(plan.observers)
    setting, record = engine.setting, folder.record if folder else Record(":memory:")
    checkpointer = Checkpointer(folder, engine, who, steps, now)
    if resume:
        checkpointer.resume(ready.cadence.rounds, real_jobs=ready.clients.jobs is not None)
    best = _best_model(setting, folder, now)
    if keeper is not None:
        keeper.begin(now.done, now.state)
    with observers.watching(_about(setting, folder, now.done)) as made, Interrupts() as interrupts:
        if ready.clients.jobs is not None:
            ready.clients.jobs.pause = interrupts.pause
        target = ready.stopping.target
        also = target.metric if target is not None and target.split == "train" else None
        evaluation = Evaluation(engine, record, plan.evaluate_clients, also, plan.evaluate_training)
        traffic = (ready.clients.bytes_down, ready.clients.bytes_up)
        describe = Describe(traffic, setting.federation.name, steps.cohorts.notes, not engine.trusts_metrics)
        limits = _limits(ready)
        recorder = Recorder(
            *(record, engine, who, now, ready.cadence, describe, evaluation, checkpointer),
            *(observers, ready.stopping, best, keeper),
        )
        if ready.events:
            record.write_round(now.done, {}, events=ready.events)
        blocks = Blocks(steps, limits, ready.cadence, now, interrupts, lambda: recorder.enough)
        train_rounds(blocks, engine, now, recorder)
        engine.check_trained()
        note_final_numbers(record, now.done)
        note_stream_weights(record, setting, now.done, evaluation.clients)
        if (rival := check_regret(plan.regret, setting.stream is not None)) is not None:
            note_regret(record, engine, now, evaluation.clients, rival, execute)
        if folder:
            if best is not None:
                best.save()
            checkpointer.save()
            folder.save_model(_model_to_keep(now, evaluation.divergence, record))
            folder.finished = True
        warn_of_divergence(record)
        made.append(Run(setting, engine, now.state, now.memories, now.history, record, folder))
    return made[0]


def _limits(ready: Prepared) -> BlockLimits:
    """How many steps may go to the engine together: one at a time where every round is looked at."""
    plan, engine, steps = ready.plan, ready.engine, ready.steps
    algorithm = engine.setting.algorithm
    counted = algorithm.needs.round_weights and engine.setting.stream is not None
    if plan.keeper is not None or algorithm.converges or counted:
        return BlockLimits()
    return choose_limits(engine, plan.participation, steps.timing, ready.cadence, steps.cohorts, ready.now)


def _best_model(setting: Setting, folder: RunFolder | None, now: Progress) -> BestModel | None:
    """Where the best model is kept; a method whose clients predict by themselves has no single one."""
    if setting.algorithm.personalized or not setting.algorithm.has_server:
        return None
    best = BestModel(judging_metric(setting.task, setting.federation), folder)
    best.resume(now.done, now.messages.tree)
    return best


def _about(setting: Setting, folder: RunFolder | None, done: int) -> TrainingInfo:
    name = setting.algorithm.name or type(setting.algorithm).__name__
    if folder is None:
        return TrainingInfo(name, {}, None, done)
    return TrainingInfo(folder.path.name, dict(folder.config), folder.path, done)


def _open_folder(out: Out, resume: bool, config: Config, overwrite: bool) -> RunFolder | None:
    path = path_of(out)
    if path is None or isinstance(out, RunFolder):
        return out if isinstance(out, RunFolder) else None
    return RunFolder.open(path) if resume else RunFolder.create(path, config, overwrite)


def path_of(out: Out) -> Path | None:
    """Where a run is written, or None."""
    if out is None:
        return None
    if not isinstance(out, str | Path | RunFolder):
        raise ConfigError(f"out must be the path of a run folder, but is {out!r}.")
    return out.path if isinstance(out, RunFolder) else Path(out)


def _model_to_keep(now: Progress, divergence: Divergence, record: Record) -> Message:
    """The last model, or, where training has diverged, the last one that was sound."""
    if not divergence.lost or divergence.sound is None:
        return now.messages.tree
    round, message = divergence.sound
    record.write_round(now.done, {}, events=[{"kind": "kept model", "of_round": round}])
    return message
