"""Secure aggregation (SecAgg+, as Flower implements it): the protocol, its arithmetic and its limits.

Every client adds masks to its vector that cancel in the sum: one for each pair of clients, which only the two
know, and one of its own, which enough of the others can reveal together. Bonawitz et al., "Practical Secure
Aggregation for Privacy-Preserving Machine Learning", 2017; Bell et al., "Secure Single-Server Aggregation
with (Poly)Logarithmic Overhead", 2020.

A value x of a client with share r of the largest weight travels as a whole number of about 2^32 / n levels:

    round((r x + C) T / 2C),  T = 2^(32 - bits of n)     so n of them never overflow 32 bits
    mean error of about C sqrt(n) / T                    rounding is random and unbiased
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, RecordDict
from flwr.common import FitIns, FitRes, Parameters, parameters_to_ndarrays
from flwr.server.compat.legacy_context import LegacyContext
from flwr.server.strategy import Strategy
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key
from flwr.server.workflow.secure_aggregation.secaggplus_workflow import WorkflowState
from flwr.serverapp import Grid

from ..algorithms import Algorithm
from ..core.spec import Spec
from ..errors import ConfigError
from ..participation import Participation
from ..typing import Array, Document, Float64s, Int64s
from .central import check_private

FEWEST = 3
"""Clients of a round: of two, each would know the other's upload."""
MOST_SHARES = 51
"""Neighbors (and oneself) among which a client's secrets are shared, at most."""
HEAVIEST = 2**20
"""The whole number that stands for the largest weight."""
MODULUS = 2**32
WITNESS = 1e-3
"""How far the mean of everybody's 1 may be from 1 before a sum is not believed."""


class SecureMean(NamedTuple):
    """The weighted mean of the vectors of some nodes."""

    vector: Float64s
    nodes: frozenset[int]
    """Whose vectors are in it."""


def levels(clients: int) -> int:
    """Levels into which values are rounded, so that sums over all clients stay below 2^32.

    >>> levels(3) == 2**30, levels(100) == 2**25
    (True, True)
    """
    return MODULUS >> clients.bit_length()


def whole_weights(weights: Float64s) -> Int64s:
    """Weights as whole numbers, in proportion; the largest becomes 2^20.

    >>> whole_weights(np.array([0.5, 0.25, 0.0])).tolist()
    [1048576, 524288, 0]
    """
    return np.rint(weights / max(weights.max(initial=0.0), np.finfo(float).tiny) * HEAVIEST).astype(np.int64)


def reach(message: list[Array]) -> float:
    """The range of values that uploads may have: four times the largest of the message, and at least 64."""
    largest = max((float(np.abs(leaf).max(initial=0.0)) for leaf in message), default=0.0)
    return float(2.0 ** np.ceil(np.log2(max(64.0, 4 * largest))))


def check_secure(
    name: str, algorithm: Algorithm, participation: Participation, timing: str, clients: int
) -> None:
    """Raise where secure aggregation is not possible."""
    check_private("secure aggregation", name, algorithm, participation)
    if Spec.parse(timing).name != "synchronous":
        raise ConfigError(
            f"secure aggregation needs everyone's result at once, but with timing {timing!r} results come "
            "one by one; choose synchronous."
        )
    each = participation.cohort_size(clients)
    if each < FEWEST:
        raise ConfigError(
            f"secure aggregation hides a client among others, so a round needs at least {FEWEST}, not {each}."
        )


def secure_mean(
    grid: Any, requests: Mapping[int, RecordDict], clipping: float, patience: float, round: int
) -> SecureMean | None:
    """Send every node its request through a `grid` that checks what comes back, and get the weighted mean of
    their vectors; None if too few stayed."""
    result = _Result(list(requests))
    records = {
        MAIN_CONFIGS_RECORD: ConfigRecord({Key.CURRENT_ROUND: round}),
        MAIN_PARAMS_RECORD: ArrayRecord(),
    }
    context = LegacyContext(Context(0, 0, {}, RecordDict(records), {}), strategy=result)  # type: ignore[arg-type]
    with _quiet():
        _SecureWorkflow(requests, clipping, patience)(cast(Grid, grid), context)
    return result.mean if result.mean is None or is_plausible(result.mean.vector) else None


def is_plausible(vector: Float64s) -> bool:
    """Whether a mean can be one: everybody sent a 1 first, and all of it must be finite."""
    return bool(np.isfinite(vector).all() and abs(vector[0] - 1) < WITNESS)


class _SecureWorkflow(SecAggPlusWorkflow):
    """Flower's workflow, with requests of ours instead of its own instructions."""

    def __init__(self, requests: Mapping[int, RecordDict], clipping: float, patience: float) -> None:
        shares = min(len(requests), MOST_SHARES)
        super().__init__(
            shares,
            shares // 2 + 1,  # a majority, so that nobody can be told two stories
            max_weight=float(HEAVIEST),
            clipping_range=clipping,
            quantization_range=levels(len(requests)),
            modulus_range=MODULUS,
            timeout=patience,
        )
        self._requests = requests

    def setup_stage(self, grid: Grid, context: LegacyContext, state: WorkflowState) -> bool:
        """Flower's own stage, with our requests in place of its instructions."""
        enough = super().setup_stage(grid, context, state)
        state.nid_to_fitins = dict(self._requests)
        return enough

    def share_keys_stage(self, grid: Grid, context: LegacyContext, state: WorkflowState) -> bool:
        """As Flower's; then who has left is forgotten, for nobody has masks or shares of theirs.

        Flower itself would later ask the others for these shares, and give up when they have none.
        """
        enough = super().share_keys_stage(grid, context, state)
        there = set(state.active_node_ids)
        state.sampled_node_ids = there
        state.nid_to_neighbours = {node: state.nid_to_neighbours[node] & there for node in there}
        return enough and self._check_threshold(state)


class _Result(Strategy):
    """What Flower's workflow needs of a strategy: whom to ask, and where to put what comes out."""

    def __init__(self, nodes: list[int]) -> None:
        self.nodes, self.mean = nodes, cast(SecureMean | None, None)

    def configure_fit(
        self, server_round: int, parameters: Any, client_manager: Any
    ) -> list[tuple[Any, FitIns]]:
        """All of them; their requests are put in by :class:`_SecureWorkflow`."""
        nothing = FitIns(Parameters([], "numpy.ndarray"), {})
        return [(SimpleNamespace(node_id=node), nothing) for node in self.nodes]

    def aggregate_fit(
        self, server_round: int, results: list[tuple[Any, FitRes]], failures: Any
    ) -> tuple[None, Document]:
        """Keep the mean, which stands in every result."""
        (vector,) = parameters_to_ndarrays(results[0][1].parameters)
        self.mean = SecureMean(np.asarray(vector), frozenset(proxy.node_id for proxy, _ in results))
        return None, {}

    def initialize_parameters(self, client_manager: Any) -> None:
        """Nothing: our loop has the model."""

    def configure_evaluate(self, server_round: int, parameters: Any, client_manager: Any) -> list[Any]:
        """Nobody: our loop evaluates."""
        return []

    def aggregate_evaluate(self, server_round: int, results: Any, failures: Any) -> tuple[None, Document]:
        """Not evaluated here: the loop does that."""
        return None, {}

    def evaluate(self, server_round: int, parameters: Any) -> None:
        """Not evaluated here: the loop does that."""


@contextmanager
def _quiet() -> Iterator[None]:
    """What Flower would log is recorded as events."""
    logger = logging.getLogger("flwr")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
