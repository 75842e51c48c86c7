"""The synthetic data of a stream: logistic regression, with historical clients and fresh ones.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), section 4.3.4.1: every client has
a teacher of its own near a common one, inputs are uniform, labels are drawn,

    theta_0 ~ N(0, I),     theta_m ~ N(theta_0, spread^2 I),
    x ~ U[-1, 1]^d,        y ~ Bernoulli(sigmoid(<x, theta_m>)).

Published are d = 20, N = 200 training rows and 11 clients, of which 10 are historical and share N_hist rows;
the other one receives N - N_hist rows one by one (`--stream constant:1,10 --memory replace`). The spread is
not published. Test rows come on top, 200 for each client.
"""

from __future__ import annotations

import numpy as np

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Array, Float64s, Int64s
from ..federation import Federation
from ..historical_split import HistoricalSplit
from ..sizes import check_clients, equal, whole
from .source import check_memory, source_registry

ROWS, TESTED, SHARE = 200, 200, 0.2
"""Training rows of all clients, test rows of each, and the share of historical rows, unless asked for."""


@source_registry.add("synthetic_stream")
def synthetic_stream(
    spread: float = 0.1,
    dimension: int = 20,
    *,
    clients: int = 11,
    samples: int | None = None,
    historical_share: float | None = None,
    historical_clients: float | None = None,
    validation_fraction: float = 0.0,
    seed: int = 0,
) -> Federation:
    """Logistic regression for data streams: historical clients share a part of 200 rows, and fresh ones have
    the others; `synthetic_stream:0.5` has clients that differ more.

    Args:
        spread: how far clients' teachers are from the common one, as a standard deviation.
        dimension: inputs of a row.
        clients: how many, historical ones first.
        samples: training rows of all clients together; 200 when not given.
        historical_share: N_hist / N; 0.2 when not given.
        historical_clients: how many are historical, a share below 1 or a number; all but one when not given.
        validation_fraction: the part of each client's training rows that validates instead.
        seed: the same seed makes the same rows.
    """
    whole(dimension, "the dimension"), whole(clients, "the number of clients")
    if not (np.isfinite(spread) and spread >= 0):
        raise ConfigError(f"the spread of clients' teachers must not be negative, but is {spread}.")
    kept = clients - 1 if historical_clients is None else historical_clients
    share = SHARE if historical_share is None else historical_share
    sizes = client_sizes(ROWS if samples is None else samples, clients, HistoricalSplit(share, kept))
    check_memory(12 * dimension * (int(sizes.sum()) + TESTED * clients))
    teachers = draw_teachers(clients, dimension, spread, seed)
    train, test = (
        _draw_rows(teachers, counts, seed, purpose)
        for counts, purpose in ((sizes, "stream rows"), (np.full(clients, TESTED), "stream test rows"))
    )
    owners = np.repeat(np.arange(clients), sizes)
    made = Federation.from_owners(
        *(*train, owners), clients=clients, classes=2, seed=seed, validation_fraction=validation_fraction
    )
    tested = Federation.from_owners(*test, np.repeat(np.arange(clients), TESTED), clients=clients, classes=2)
    about = f"logistic regression in {dimension} dimensions, {share:.3g} of the rows historical"
    return Federation(made.train, made.validation, tested.train, 2, description=about)


def client_sizes(rows: int, clients: int, split: HistoricalSplit) -> Int64s:
    """Training rows of every client: historical ones share N_hist alike, fresh ones the others.

    Args:
        rows: N.
        clients: how many.
        split: which share of the rows which clients have.

    >>> client_sizes(200, 11, HistoricalSplit(0.2, 10)).tolist()
    [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 160]
    """
    kept, historical = split.count(clients), split.rows(rows)
    parts = ((historical, kept), (rows - historical, clients - kept))
    for own, count in parts:
        check_clients(own, count)
    return np.concatenate([equal(rows=own, clients=count) for own, count in parts])


def draw_teachers(clients: int, dimension: int, spread: float, seed: int) -> Float64s:
    """theta_m of every client; the same whatever share of rows is historical.

    Args:
        clients: how many.
        dimension: numbers of a teacher.
        spread: how far clients' teachers are from the common one.
        seed: the same seed draws the same teachers.
    """
    rng = generator(seed, "stream teachers")
    center = rng.normal(size=dimension)
    return center + spread * rng.normal(size=(clients, dimension))


def _draw_rows(teachers: Float64s, counts: Int64s, seed: int, purpose: str) -> tuple[Array, Array]:
    """Inputs and labels of all clients, one after the other."""
    drawn = [
        _of_client(teacher, int(count), generator(seed, purpose, m))
        for m, (teacher, count) in enumerate(zip(teachers, counts, strict=True))
    ]
    return np.concatenate([x for x, _ in drawn]), np.concatenate([y for _, y in drawn])


def _of_client(teacher: Float64s, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    x = rng.uniform(-1, 1, size=(count, len(teacher)))
    y = rng.random(count) < 1 / (1 + np.exp(-x @ teacher))
    return x.astype(np.float32), y.astype(np.int32)
