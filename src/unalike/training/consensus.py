"""Consensus distance of clients' models without a server, and the quality of their mean.

    consensus distance  =  mean over clients t of  |theta_t - mean|^2

The mean is what an observer of all clients would take for the result.
"""

from __future__ import annotations

import jax
import numpy as np

from ..algorithms import Messages
from ..engine import Engine, Memories
from ..topology import consensus_distance
from ..typing import ClientIds
from .round_report import evaluation_columns


def mean_for_each(messages: Messages, clients: int | None = None) -> Messages:
    """The mean of all clients' messages, for each of them or of so many others."""
    assert messages.rows is not None, "with a server there is one message for all."
    mean = jax.tree.map(lambda leaf: leaf[None], messages.mean())
    return Messages(mean, np.zeros(len(messages.rows) if clients is None else clients, np.int64))


def consensus_columns(
    engine: Engine,
    messages: Messages,
    memories: Memories,
    round: int,
    clients: ClientIds,
) -> dict[str, float]:
    """The consensus distance, and the metrics of the mean model on everyone's rows."""
    models = engine.setting.algorithm.models(messages.tree)
    metrics, _ = evaluation_columns(engine, mean_for_each(messages), memories, round, clients)
    mean = {f"mean_model_{name}": value for name, value in metrics.items()}
    return {"consensus_distance": consensus_distance(models), **mean}
