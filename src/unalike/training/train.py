"""How is a federation trained?  (The front door to the loop.)"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ..aggregation.observed_updates import WATCHED
from ..algorithms import Algorithm
from ..core.pytrees import Tree
from ..data import Federation
from ..data.streams import Stream
from ..engine import Engine, Setting, engine_registry
from ..engine.programs import forget_programs
from ..errors import ConfigError
from ..models import Task
from ..participation import Full, Participation, Renormalized, check_draw, check_per_round
from ..runs import Record, RunFolder
from ..timing import Synchronous, Timing
from .loop import Cadence, Observer, Training
from .run import Run

Out = str | Path | RunFolder | Callable[[], RunFolder] | None
"""Where a run is written; a function makes the folder when everything else is known to be right."""


def train(
    federation: Federation,
    task: Task,
    algorithm: Algorithm,
    *,
    rounds: int | None,
    seed: int = 0,
    per_round: int | None = None,
    participation: Participation | None = None,
    timing: Timing | None = None,
    engine: str | Engine = "local",
    devices: int | None = None,
    stream: Stream | None = None,
    evaluate_every: int | None = None,
    evaluate_clients: int = 10_000,
    checkpoint_every: int | None = None,
    until: float = math.inf,
    initial: Tree | None = None,
    keep_history: bool = False,
    out: Out = None,
    resume: bool = False,
    observer: Observer | None = None,
) -> Run:
    """Train an algorithm on a federation and return the run.

    `per_round` clients are drawn uniformly each round (all, when not given), or `participation` says who
    takes part; `timing` says when results arrive, and `until` stops the simulated clock. With `out`, the run
    is a folder that survives a crash, and `resume=True` goes on from its newest checkpoint. `initial` starts
    from a given server state, such as `other_run.history.state(5)`; `keep_history` keeps every version for
    that. `observer(report, rounds)` is called after every round with what happened in it (`report.round`,
    `report.metrics`) and how many rounds are expected, for progress bars and logs.

    >>> import unalike
    >>> federation = unalike.load("digits", clients=20, partition="dirichlet:0.3", seed=1)
    >>> model = unalike.models.mlp(32, input_shape=(8, 8, 1), outputs=10)
    >>> task = unalike.Task.classification(model, classes=10)
    >>> run = unalike.train(federation, task, unalike.FedAvg(), rounds=3, per_round=5, seed=1)
    >>> bool(run.metrics()["test_accuracy"][-1] > 0.1)
    True
    """
    if resume and out is None:
        raise ConfigError("resume=True needs the run folder to go on with, as out.")
    forget_programs()
    if rounds is not None and rounds < 0:
        raise ConfigError(f"rounds must not be negative, but is {rounds}.")
    if rounds is None and until == math.inf:
        raise ConfigError("say how many rounds to train, or until when.")
    if engine == "flower":
        raise ConfigError("real clients train by `unalike serve` and `unalike join`, not here.")
    if per_round is not None:
        check_per_round(per_round, len(federation))
    who = participation or (Renormalized(per_round=per_round) if per_round else Full())
    who.check(len(federation), rounds or 0)
    check_draw(who, federation.importance, seed)
    algorithm = algorithm.prepare(task, federation)
    watch = tuple(sorted({*who.watches, *who.asks} & set(WATCHED)))
    setting = Setting(federation, task, algorithm, seed, stream, devices, watch)
    training = Training(
        setting,
        engine_registry.make(engine, setting=setting) if isinstance(engine, str) else engine,
        who,
        timing or Synchronous(),
        rounds or 0,
        Cadence(evaluate_clients=evaluate_clients),
        Record(":memory:"),
        observer=observer,
        until=until,
    )
    training.start(initial, keep_history)
    training.plan_ahead(rounds, evaluate_every, checkpoint_every if out else 0)
    if "update_norm" in who.asks and training.memories:
        raise ConfigError(
            f"asking for updates before choosing would change what {type(algorithm).__name__}'s clients "
            "remember; use a sampling that does not ask, such as md or clustered-size."
        )
    with _closed_on_error(training.engine if isinstance(engine, str) else None):
        return _trained(training, out, resume)


@contextmanager
def _closed_on_error(engine: Engine | None) -> Iterator[None]:
    """An engine made for a training that fails lets go of what it holds."""
    try:
        yield
    except BaseException:
        if engine is not None:
            engine.close()
        raise


def _trained(training: Training, out: Out, resume: bool) -> Run:
    folder = _folder(out, resume)  # last, so that a mistake in anything above leaves nothing on the disk
    if folder:
        training.folder, training.record = folder, folder.record
    with folder.locked() if folder else nullcontext():
        if resume:
            training.resume()
        training.go()
        return _finished(training)


def _folder(out: Out, resume: bool) -> RunFolder | None:
    if out is None or isinstance(out, RunFolder):
        return out
    if callable(out):
        return out()
    return RunFolder.open(out) if resume else RunFolder.create(out, {"made_by": "unalike.train"})


def _model_to_keep(training: Training) -> Tree:
    """The last model, or, where training has diverged, the last one that was sound."""
    divergence = training.divergence
    if not divergence.lost or divergence.sound is None:
        return training.history.messages[training.done]
    round, message = divergence.sound
    training.record.write_round(training.done, {}, events=[{"kind": "kept model", "of_round": round}])
    return message


def _finished(training: Training) -> Run:
    if training.folder:
        training.save()
        training.folder.save_model(_model_to_keep(training))
        training.folder.finished = True
    return Run(
        training.setting,
        training.engine,
        training.state,
        training.memories,
        training.history,
        training.record,
        training.folder,
    )
