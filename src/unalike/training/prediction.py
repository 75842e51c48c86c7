"""Predictions of a trained model for new rows, for one client or for all.

A :class:`ClientPredictor` is what a client predicts with, and what is needed to read a person's rows: how
columns became features, and what classes are called. It needs neither the federation nor an engine.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from ..algorithms import Algorithm
from ..core.precision import precision
from ..data import Federation
from ..data.new_rows import read_features
from ..engine.row_outputs import predictor_outputs
from ..errors import ConfigError
from ..models import Task
from ..typing import Array, Predictor


@dataclass(frozen=True, eq=False)
class ClientPredictor:
    """What predicts the rows of one client, or of everyone where there is one model for all."""

    task: Task
    algorithm: Algorithm
    parameters: Predictor
    """What the algorithm predicts with: a model, or more than one and their weights."""
    about: Federation
    """What rows look like, how columns became features and what classes are called; its rows are not used."""
    client: str | None = None

    def __repr__(self) -> str:
        whose = "everyone" if self.client is None else f"client {self.client}"
        return f"ClientPredictor({self.algorithm.name or type(self.algorithm).__name__}, for {whose})"

    def outputs(self, rows: object) -> Array:
        """What the model gives for each row: one number per class before they are probabilities, or the
        predicted values."""
        x = read_features(self.about, rows, self.algorithm.needs.float64)
        with precision(self.algorithm.needs.float64):
            return predictor_outputs(self.algorithm, self.task, self.parameters, x)

    def predict(self, rows: object) -> Array:
        """The label (its name, where labels have names) or the value of every row."""
        kind, outputs = self.task.kind(), self.outputs(rows)
        if kind in ("values", "log-density"):
            return outputs[:, 0] if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs
        labels = (outputs > 0).astype(np.int64) if kind == "logit" else outputs.argmax(axis=-1)
        names = self.about.label_names
        return labels if names is None else np.array(names)[labels]

    def predict_proba(self, rows: object) -> Array:
        """The probability of every class, in the order of :attr:`classes`, for every row."""
        kind, outputs = self.task.kind(), self.outputs(rows)
        if kind in ("values", "log-density"):
            raise ConfigError("this model predicts values, which have no probabilities; use predict.")
        if kind == "logit":
            yes = np.asarray(jax.nn.sigmoid(outputs.reshape(len(outputs), -1)[:, 0]))
            return np.stack([1 - yes, yes], axis=1)
        return np.asarray(jax.nn.softmax(outputs, axis=-1))

    @property
    def classes(self) -> tuple[str | int, ...]:
        """What classes are called, in the order of their probabilities."""
        return self.about.label_names or tuple(range(self.about.classes or 0))
