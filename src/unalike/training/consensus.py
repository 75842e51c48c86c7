"""Without a server, how far apart are the clients' models, and how good is their mean?

    consensus distance  =  mean over clients t of  |theta_t - mean|^2

The mean is what an observer of all clients would take for the result.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..algorithms.shared.decentralized import Decentralized
from ..core.pytrees import Tree
from ..engine import Engine, Memories, Setting
from ..topology import consensus_distance
from ..typing import ClientIds
from .round_report import evaluation_columns


def mean_message(message: Tree, copies: int) -> Tree:
    """The mean of all clients' messages, once for each of so many clients."""
    return jax.tree.map(lambda leaf: jnp.tile(leaf.mean(0), (copies, *(1,) * (leaf.ndim - 1))), message)


def consensus_columns(
    engine: Engine,
    setting: Setting,
    message: Tree,
    memories: Memories,
    round: int,
    clients: ClientIds,
) -> dict[str, float]:
    """The consensus distance, and the metrics of the mean model on everyone's rows."""
    algorithm = setting.algorithm
    models = algorithm.models(message) if isinstance(algorithm, Decentralized) else message
    everyone = mean_message(message, len(setting.federation))
    metrics, _ = evaluation_columns(engine, everyone, memories, round, clients, setting.federation)
    mean = {f"mean_model_{name}": value for name, value in metrics.items()}
    return {"consensus_distance": consensus_distance(models), **mean}
