"""Distance of every upload from their mean: the one norm per client and round that unlearning needs.

    deviation_c  =  | theta_c - sum_i p_i theta_i |

It is computed inside the round, from what clients send anyway: nothing more is sent, and the sum of uploads
is the same as without it, bit by bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp

from ...aggregation.base import Aggregator, Uploads, WeightedSum, check_changes
from ...aggregation.needs import AggregatorNeeds
from ...aggregation.wrapper import AggregatorWrapper
from ...algorithms import Algorithm, FedAvg, FedProx, Reply
from ...errors import ConfigError
from ...participation import Participation
from ...typing import Message, Upload

METHODS = (FedAvg, FedProx)
"""Methods whose server steps from the models to their weighted mean, and nowhere else."""


@dataclass(frozen=True)
class MeasuredUploads(AggregatorWrapper):
    """What another aggregator makes of single uploads, and how far each lies from their mean."""

    rule: Aggregator = field(default_factory=WeightedSum)

    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds(measure=True, observe=True)
    hidden: ClassVar[str | None] = "unlearning measures single uploads"

    def __post_init__(self) -> None:
        if self.rule.stepwise:
            raise ConfigError(
                f"unlearning measures clients against the weighted mean, which {type(self.rule).__name__} "
                "does not keep; leave out the aggregator, or choose norm-bound."
            )

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        """Raise where the ledger would not bound what a client did."""
        check_measurable(method)
        check_changes("unlearning", message, reply.upload)
        super().check(method, who, message, reply)

    def measure(self, uploads: Uploads, mean: Upload) -> Mapping[str, jax.Array]:
        gaps = jax.tree.map(lambda leaf, middle: leaf - middle, uploads.upload, mean)
        squares = sum(jnp.sum(leaf**2, axis=tuple(range(1, leaf.ndim))) for leaf in jax.tree.leaves(gaps))
        return {"deviation": jnp.sqrt(squares) * uploads.accepted}


def check_measurable(method: Algorithm) -> None:
    """Raise where the server does more than to average, or clients remember more than they send."""
    if type(method) not in METHODS:
        raise ConfigError(
            f"unlearning follows the weighted mean of models, but {method.name or type(method).__name__} "
            "does more; choose fedavg or fedprox."
        )
    server_rate(method)


def server_rate(method: Algorithm) -> float:
    """The server's learning rate, where it is plain and at most one."""
    assert isinstance(method, FedAvg)
    optimizer = method.server_optimizer
    plain = optimizer.name == "sgd" and not optimizer.options and optimizer.schedule == "constant"
    if not plain or not 0 < optimizer.learning_rate <= 1:
        raise ConfigError(
            "unlearning needs a server that takes the mean or a part of the way to it; choose the server "
            "optimizer sgd with a learning rate of at most 1."
        )
    return float(optimizer.learning_rate)
