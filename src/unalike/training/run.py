"""A finished run: model, memories, metrics, events."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import Messages
from ..core.precision import precision
from ..engine import Engine, Memories, Setting
from ..errors import RunError
from ..models.metrics import finish_means
from ..runs import Record, RunFolder
from ..typing import Array, Event, Float64s, Message, Params, State
from .find_predictor import find_predictor
from .history import History
from .prediction import ClientPredictor
from .round_report import evaluation_columns
from .run_tables import plot_run, run_as_html, to_pandas

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..core.figures import Figure


@dataclass(frozen=True)
class Run:
    """A finished training: the server's state, what clients remember, and what happened on the way."""

    setting: Setting
    engine: Engine
    state: State
    memories: Memories
    history: History
    record: Record
    folder: RunFolder | None = None
    kept: Message | None = None
    """The model that the folder keeps, where that is not the last one."""
    rows_here: bool = True
    """Whether the clients' rows are there, not only what is known of them."""

    def __repr__(self) -> str:
        return show_run(self)

    @property
    def message(self) -> Message:
        """What the server would broadcast now: the model, for most algorithms."""
        return self.messages.tree

    @classmethod
    def open(cls, folder: str | Path, **how: Any) -> Run:
        """A run of a folder, to predict with and to look at; see :func:`unalike.experiments.open.open_run`.

        The clients' rows are read again only where a method predicts from them.
        """
        from ..experiments.open import open_run

        return open_run(folder, **how)

    @property
    def messages(self) -> Messages:
        """What all clients would be sent now."""
        if self.kept is not None and not self.setting.algorithm.decentralized:
            return Messages(self.kept)
        with precision(self.setting.algorithm.needs.float64):
            return self.setting.algorithm.messages(self.setting.task, self.state)

    @property
    def rounds(self) -> int:
        """How many rounds were trained."""
        return self.record.last_round() or 0

    def metrics(self) -> dict[str, Array]:
        """One column per metric and one row per round (0 is the start); NaN where nothing was measured."""
        return self.record.metrics()

    def client_metrics(self, round: int | None = None) -> dict[str, Array]:
        """One column per metric and one row per client, at the last evaluation or in a given round."""
        return self.record.client_metrics(round)

    def events(self) -> list[Event]:
        """Everything unusual: rejected uploads, empty rounds, skipped checkpoints."""
        return self.record.events()

    def evaluate(self, split: str = "test") -> dict[str, Float64s]:
        """Loss and metrics of every client on its rows of a split, with the number of `samples`; beside them
        the statistics that metrics are made of, such as `mse` or a table `confusion` of shares of rows."""
        self._check_rows()
        with precision(self.setting.algorithm.needs.float64):
            means = self.engine.evaluate(self.messages, self.memories, split, self.rounds)
        return finish_means(means, self.setting.task.metrics)

    def predictor(self, client: int | str | None = None, newcomer: object = None) -> ClientPredictor:
        """What predicts for everyone, for one client (its name or number), or for a `newcomer` who gives rows
        of its own, `(x, y)`, to personalize from."""
        return find_predictor(self, client, newcomer)

    def predict(self, rows: object, client: int | str | None = None, newcomer: object = None) -> Array:
        """The label (by name, where labels have names) or value of every row: an array, or a table whose
        columns are prepared as those of training were."""
        return self.predictor(client, newcomer).predict(rows)

    def predict_proba(self, rows: object, client: int | str | None = None, newcomer: object = None) -> Array:
        """The probability of every class for every row."""
        return self.predictor(client, newcomer).predict_proba(rows)

    def trained_model(self, client: int | str | None = None) -> Params:
        """The parameters of the model that all share, or of the one that a client predicts with."""
        from .export import find_trained_model

        return find_trained_model(self, client)

    def export(self, path: str | Path, format: str | None = None, client: int | str | None = None) -> Path:
        """Write the model for other tools, as `safetensors` with PyTorch's names or as an `onnx` graph (as
        the path ends, when not given): the one that all share, or a client's own."""
        from .export import export

        return export(self, path, format, client)

    def to_pandas(self, what: str = "rounds") -> DataFrame:
        """A data frame of what was measured: one row per evaluated round, or, with `clients`, per client at
        the last evaluation."""
        return to_pandas(self, what)

    def plot(self, metric: str | None = None) -> Figure:
        """A figure (Matplotlib's) of a metric over rounds, or of loss and accuracy."""
        return plot_run(self, metric)

    def _repr_html_(self) -> str:
        return run_as_html(self)

    def final(self) -> dict[str, float]:
        """The last evaluation's means over all samples."""
        self._check_rows()
        clients = np.arange(len(self.setting.federation))
        with precision(self.setting.algorithm.needs.float64):
            return evaluation_columns(self.engine, self.messages, self.memories, self.rounds, clients)[0]

    def _check_rows(self) -> None:
        if not self.rows_here:
            raise RunError(
                "this run was opened without its rows; open it with data=True to evaluate, or look at "
                "metrics()."
            )


def show_run(run: Run) -> str:
    """A few lines: method, clients, rounds, the last metrics, and the folder."""
    columns = run.metrics()
    named = {name: columns[name] for name in columns if name.startswith(("train_", "test_", "unseen_"))}
    seen = {name: values[np.isfinite(values)] for name, values in named.items()}
    last = [f"{name.replace('_', ' ')} {values[-1]:.4g}" for name, values in seen.items() if len(values)]
    algorithm = run.setting.algorithm
    lines = [
        f"Run of {algorithm.name or type(algorithm).__name__}: {len(run.setting.federation):,} clients, "
        f"{run.rounds:,} rounds",
        f"  last: {', '.join(last) or 'nothing was measured'}",
    ]
    if run.folder is not None:
        lines.append(f"  folder: {run.folder.path}")
    return "\n".join(lines)
