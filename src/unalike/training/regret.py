"""Regret of a run: how much worse were predictions of arriving rows than those of a fixed rival?

After t rounds the rows of the next step are predicted before they are learned (:mod:`.prequential`). When the
run is over, a rival that never changes predicts the same rows, and what it would have saved adds up:

    R_T  =  sum_t loss_t(played)  -  loss_t(rival),        for an accuracy  sum_t  rival - played

(Marfoq's doctoral thesis, 2023, (4.25) and (4.47)). The rival is the run's `last` model, whose regret says
how long learning took; or a model `pooled` over all rows that arrived, in some passes, which is the same for
all methods and so makes them comparable. It need not be the best fixed model: a negative regret says that it
was not, or that following the changes was worth more. Steps that were not evaluated do not count.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..algorithms import FedAvg, LocalWork, Optimizer
from ..core.spec import Spec
from ..data import Federation
from ..engine import Engine
from ..errors import ConfigError, unknown
from ..models.metrics import higher_is_better
from ..participation import Full
from ..runs import Record
from ..timing import Synchronous
from ..typing import ClientIds
from .plan import TrainingPlan
from .prequential import PREFIX
from .round_report import label_columns
from .run import Run
from .training_state import Progress

COLUMN = "regret"
RIVALS = ("last", "pooled")
PASSES, RATE, BATCH = 30, 0.005, 32
"""Of Adam over all rows, for the pooled rival, unless it says how many."""
Scores = dict[str, float]
Train = Callable[[TrainingPlan], Run]


def check_regret(text: str | None, streamed: bool, engine: str = "local") -> Spec | None:
    """The rival that is meant; refused where nothing arrives, or rows are elsewhere.

    Args:
        text: `last`, `pooled` or `pooled:30` (passes); None for no regret.
        streamed: whether rows arrive while training.
        engine: where training runs.
    """
    if text is None:
        return None
    spec = Spec.parse(text)
    if spec.name not in RIVALS:
        raise unknown("rival of a regret", spec.name, RIVALS)
    passes = spec.arguments[0] if spec.arguments else PASSES
    if len(spec.arguments) > (spec.name == "pooled") or type(passes) is not int or not 1 <= passes <= 10_000:
        raise ConfigError(f"regret must be last or pooled:PASSES, from 1 to 10,000 passes, but is {text!r}.")
    if not streamed:
        raise ConfigError(
            f"regret = {text!r} is about rows that arrive while training; say how they arrive with stream, "
            "such as constant:20."
        )
    if Spec.parse(engine).name != "local":
        raise ConfigError(f"regret is measured on the engine local, not on {engine}.")
    return spec


def note_regret(
    record: Record, engine: Engine, now: Progress, clients: ClientIds, rival: Spec, train: Train
) -> None:
    """Record the regret of a run that is over.

    Args:
        record: of the run.
        engine: that has trained it.
        now: its end.
        clients: those whose arriving rows were predicted.
        rival: against whom.
        train: trains the plan of a rival.
    """
    metrics = record.metrics()
    loss = metrics.get(f"{PREFIX}_loss", np.zeros(0))
    measured = np.flatnonzero(np.isfinite(loss))
    if not len(measured):
        return
    score = (
        _last(engine, now, clients) if rival.name == "last" else _pooled(rival, engine, now, clients, train)
    )
    saved: dict[str, dict[int, float]] = {}
    for place in measured:
        round = int(metrics["round"][place])
        for name, fixed in score(round).items():
            quantity, apart = name.removeprefix(f"{PREFIX}_"), float(metrics[name][place]) - fixed
            better = quantity != "loss" and higher_is_better(quantity)
            saved.setdefault(quantity, {})[round] = -apart if better else apart
    for quantity, of_rounds in saved.items():
        totals = np.cumsum(list(of_rounds.values()))
        record.write_column(f"{COLUMN}_{quantity}", dict(zip(of_rounds, totals.tolist(), strict=True)))


def _last(engine: Engine, now: Progress, clients: ClientIds) -> Callable[[int], Scores]:
    """The run's own last model, or everyone's own last one."""

    def score(round: int) -> Scores:
        assert engine.setting.stream is not None
        coming = engine.setting.stream.arriving(round, clients)
        assert coming is not None  # it was predicted before
        part = coming.only(engine.setting.federation.train, clients)
        values = engine.evaluate_rows(now.messages, now.memories, part, max(now.done - 1, 0), clients)
        return {} if values is None else label_columns(PREFIX, values, engine.setting.task)[0]

    return score


def _pooled(
    rival: Spec, engine: Engine, now: Progress, clients: ClientIds, train: Train
) -> Callable[[int], Scores]:
    """One model for all that has learned every row that arrived."""
    stream, split, task = engine.setting.stream, engine.setting.federation.train, engine.setting.task
    assert stream is not None

    def rows(round: int, since: int | None = None) -> Federation:
        coming = stream.arriving(round, clients, since)
        assert coming is not None
        classes = engine.setting.federation.classes
        return Federation.from_clients({"all": {"train": coming.read(split)}}, classes=classes)

    passes = int(rival.arguments[0]) if rival.arguments else PASSES
    work = LocalWork(epochs=passes, batch_size=BATCH)
    plan = TrainingPlan(
        federation=rows(max(now.done - 1, 0), -1),
        task=task,
        algorithm=FedAvg(work=work, optimizer=Optimizer("adam", RATE)),
        participation=Full(),
        timing=Synchronous(),
        rounds=1,
        seed=engine.setting.seed,
        evaluate_every=0,
        evaluate_clients=1,
    )
    run = train(plan)

    def score(round: int) -> Scores:
        values = run.engine.evaluate_rows(
            run.messages, run.memories, rows(round).train, 0, np.zeros(1, np.int64)
        )
        return {} if values is None else label_columns(PREFIX, values, task)[0]

    return score
