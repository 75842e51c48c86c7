"""LEAF's Synthetic(alpha, beta): models and inputs that differ by an adjustable amount.

Synthetic(alpha, beta) of Li et al., "Federated Optimization in Heterogeneous Networks", 2020, and LEAF
(Caldas et al., 2018): alpha says how much the clients' models differ, beta how much their inputs do. With
60 inputs and 10 classes,

    u_k ~ N(0, alpha^2),  W_k, b_k ~ N(u_k, 1),  B_k ~ N(0, beta^2),  v_k ~ N(B_k, 1),
    x ~ N(v_k, diag(j^-1.2)),  y = argmax(W_k x + b_k).

alpha and beta are standard deviations, as in the authors' program (the paper's notation makes them
variances). Clients have 450 rows on average, so that a hundred thousand of them need eleven gigabytes: who
has asked for `samples` gets those rows of all clients and memory for no more.
"""

from __future__ import annotations

import numpy as np

from ...core.random import generator
from ...typing import Array, Int64s
from .source import Source, check_memory, check_rows, some_rows, source_registry

DIMENSION, CLASSES = 60, 10
_SCALES = np.arange(1, DIMENSION + 1) ** -0.6  # the square root of the variance j^-1.2


@source_registry.add("synthetic")
def synthetic(
    alpha: float = 0.5, beta: float = 0.5, *, clients: int = 100, samples: int | None = None, seed: int = 0
) -> Source:
    """LEAF's Synthetic(alpha, beta): every client has its own linear model and its own inputs."""
    return _source(alpha, beta, clients, samples, seed, shared=False)


@source_registry.add("synthetic_iid")
def synthetic_iid(*, clients: int = 100, samples: int | None = None, seed: int = 0) -> Source:
    """LEAF's synthetic data with one model for all (in Synthetic(0, 0) everyone still has a model)."""
    return _source(0.0, 0.0, clients, samples, seed, shared=True)


def client_sizes(clients: int, seed: int) -> Int64s:
    """Log-normal sizes of at least 50: a few clients have most of the rows."""
    return 50 + generator(seed, "synthetic sizes").lognormal(4, 2, clients).astype(np.int64)


def _source(alpha: float, beta: float, clients: int, samples: int | None, seed: int, shared: bool) -> Source:
    sizes = client_sizes(clients, seed)
    total = int(sizes.sum())
    if samples is None:
        check_rows(total, clients, 4 * DIMENSION)
    check_memory(2 * 4 * DIMENSION * min(total, samples or total))  # once more while they are dealt
    kept = some_rows(total, samples, seed)
    starts = np.searchsorted(kept, np.cumsum(sizes) - sizes)
    ends = np.append(starts[1:], len(kept))
    x, y = np.empty((len(kept), DIMENSION), np.float32), np.empty(len(kept), np.int32)
    first = 0
    for k, (start, end, size) in enumerate(zip(starts, ends, sizes, strict=True)):
        if end > start:
            mine = slice(None) if end - start == size else kept[start:end] - first
            rows = _client(alpha, beta, seed, k, 0 if shared else k, int(size))
            x[start:end], y[start:end] = rows[0][mine], rows[1][mine]
        first += int(size)
    return Source(
        x,
        y,
        CLASSES,
        owners=np.repeat(np.arange(clients), ends - starts),
        description="Synthetic, independent and alike" if shared else f"Synthetic({alpha}, {beta})",
    )


def _client(alpha: float, beta: float, seed: int, client: int, model: int, size: int) -> tuple[Array, Array]:
    """The rows of one client, whose model and mean are those of client `model`."""
    rng = generator(seed, "synthetic model", model)
    center = alpha * rng.standard_normal()
    weights = center + rng.standard_normal((DIMENSION, CLASSES))
    bias = center + rng.standard_normal(CLASSES)
    mean = beta * rng.standard_normal() + rng.standard_normal(DIMENSION)
    x = mean + _SCALES * generator(seed, "synthetic rows", client).standard_normal((size, DIMENSION))
    return x.astype(np.float32), (x @ weights + bias).argmax(axis=1).astype(np.int32)
