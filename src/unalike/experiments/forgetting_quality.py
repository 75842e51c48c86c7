"""Unlearning quality, measured on the forgotten client's rows, and the savings.

    residual accuracy     on the client's training rows, before and after; the yardstick is a model that never
                          saw them, not zero
    membership test       the chance that a training row of the client has a smaller loss than one of its test
                          rows (Yeom et al., "Privacy Risk in Machine Learning", 2018): 0.5 tells nothing
    relearning time       rounds of training with the client until its accuracy is what it was before
    watermark             accuracy on the client's rows with a trigger, beside that of a model trained from
                          scratch, where the run had watermarks (:mod:`.watermark_check`)
    saved                 rounds and bytes of the retraining against those of the training that it replaces

These are measurements, not guarantees: a client may pass all of them and still be in the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..core.run_files import MODEL
from ..data import Federation, Split
from ..engine import root_key
from ..models import Task
from ..participation import Full, Renormalized
from ..runs import load_tensors, restore
from ..runs.atomic import write_bytes
from ..timing import Step
from ..training.run import Run
from ..training.train import train
from ..trust.unlearning.requests import Request
from ..typing import Array, Document, Fields, Float64s, Params, State
from .build import make_algorithm, make_task
from .forget_plan import ForgettingRun
from .remaining_rows import rows_coded_without
from .watermark_check import is_right, select_rows_with_trigger, train_from_scratch, verify_watermark

MOST_RELEARNING = 20
"""Rounds after which relearning is given up."""


@dataclass(frozen=True)
class OwnRows:
    """The rows of the clients of a request, which only their owners and a simulation have."""

    federation: Federation
    task: Task
    clients: tuple[int, ...]
    marked: Split | None = None
    """Those of their training rows that have a trigger, where they have watermarks."""

    @classmethod
    def of(cls, run: ForgettingRun, clients: Sequence[int], forgotten: Sequence[int]) -> OwnRows:
        """The rows of some clients of a simulated run, coded as without those that were forgotten then."""
        federation = rows_coded_without(run.experiment, forgotten)
        marked = select_rows_with_trigger(run.experiment, federation, clients)
        return cls(federation, make_task(run.experiment, federation), tuple(clients), marked)

    def measure(self, params: Params) -> dict[str, float]:
        """Residual accuracy (where there are classes) and loss, and what a membership test sees."""
        train, test = (part.take(self.clients) for part in (self.federation.train, self.federation.test))
        members, others = self._losses(params, train), self._losses(params, test)
        found = {"loss": float(members.mean()), "membership": membership(members, others)}
        if self.marked is not None:
            found["watermark"] = float(is_right(self.task, params, self.marked).mean())
        return {**self.accuracy(params), **found}

    def accuracy(self, params: Params) -> dict[str, float]:
        """Accuracy on the training rows, where there are classes."""
        if not self.federation.classes:
            return {}
        part = self.federation.train.take(self.clients)
        return {"accuracy": float(is_right(self.task, params, part).mean())}

    def _losses(self, params: Params, part: Split) -> Float64s:
        if not len(part.y):
            return np.zeros(0)
        outputs = self.task.model.apply(params, jnp.asarray(part.x))
        return np.asarray(self.task.sample_loss(outputs, jnp.asarray(part.y)), np.float64).reshape(-1)


def membership(members: Array, others: Array) -> float:
    """The chance that a member's loss is the smaller one, ties counting half; NaN where one has no rows.

    >>> membership(np.array([0.1, 0.2]), np.array([0.3])), membership(np.ones(3), np.ones(2))
    (1.0, 0.5)
    """
    if not len(members) or not len(others):
        return float("nan")
    ranks = scipy.stats.rankdata(np.concatenate([members, others]))
    larger = ranks[: len(members)].sum() - len(members) * (len(members) + 1) / 2
    return float(1 - larger / (len(members) * len(others)))


def measure_before(run: ForgettingRun, request: Request) -> None:
    """Measure the published model, while it is there, and write it beside the journal."""
    before = [client for client in run.log.forgotten if client not in request.clients]
    rows = OwnRows.of(run, request.clients, before)
    algorithm = make_algorithm(run.experiment).prepare(rows.task, rows.federation)
    template = algorithm.broadcast(rows.task, algorithm.init(rows.task, root_key(0, "init")))
    params = restore(template, load_tensors(run.path / MODEL)[0])
    _write(run, request, {"before": rows.measure(params)})


def request_to_measure(run: ForgettingRun) -> Request | None:
    """The last request, if it is finished but for what is measured after it."""
    last = run.log.requests[-1] if run.log.requests else None
    path = run.home / f"quality-{last.number}.json" if last else None
    if path is None or not path.exists() or "after" in json.loads(path.read_text(encoding="utf-8")):
        return None
    return last


def measure_after(run: ForgettingRun, request: Request, trained: Run) -> Document | None:
    """Measure the retrained model, and how soon the clients would be learned again; None where nothing was
    measured before."""
    path = run.home / f"quality-{request.number}.json"
    if not path.exists():
        return None
    before = json.loads(path.read_text(encoding="utf-8"))["before"]
    rows = OwnRows.of(run, request.clients, run.log.forgotten)
    metrics = trained.metrics()
    sent = float(np.nansum(metrics["bytes_up"]) + np.nansum(metrics["bytes_down"]))
    each = sent / max(trained.rounds, 1)
    found = {
        "before": before,
        "after": rows.measure(trained.message),
        "rounds": trained.rounds,
        "rounds_saved": request.rounds_before - trained.rounds,
        "bytes": sent,
        "bytes_saved": each * (request.rounds_before - trained.rounds),
        "relearning_rounds": relearning_rounds(run, rows, trained.state, before.get("accuracy")),
    }
    if rows.marked is not None:
        scratch = train_from_scratch(run, request, rows.federation, rows.task)
        models = trained.message, scratch.message
        found["scratch"] = rows.measure(scratch.message)
        found["watermark"] = verify_watermark(rows.marked, before["watermark"], models, rows.task)
    _write(run, request, found)
    return found


class _Accuracies:
    """A keeper that measures the clients' own accuracy after every round."""

    def __init__(self, rows: OwnRows) -> None:
        self._rows = rows
        self.values: list[float] = []

    def begin(self, done: int, state: State) -> None:
        """The model before the first round."""
        self.values = [self._rows.accuracy(state["params"])["accuracy"]]

    def keep(self, step: Step, report: Mapping[str, ArrayLike], state: State) -> None:
        """The model after a round."""
        self.values.append(self._rows.accuracy(state["params"])["accuracy"])


def relearning_rounds(run: ForgettingRun, rows: OwnRows, state: State, accuracy: float | None) -> int | None:
    """Rounds of training with everybody until the clients' accuracy is back; None if it is not in time."""
    if accuracy is None:
        return None
    experiment, kept = run.experiment, _Accuracies(rows)
    each = experiment.per_round
    train(
        rows.federation,
        rows.task,
        make_algorithm(experiment),
        rounds=MOST_RELEARNING,
        seed=experiment.seed,
        participation=Full() if each is None else Renormalized(per_round=each),
        evaluate_every=0,
        initial=state,
        keeper=kept,
    )
    reached = [n for n, value in enumerate(kept.values) if value >= accuracy]
    return reached[0] if reached else None


def _write(run: ForgettingRun, request: Request, found: Fields) -> None:
    words = json.dumps(found, indent=2)
    write_bytes(run.home / f"quality-{request.number}.json", words.encode())
