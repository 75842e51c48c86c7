"""What does it cost to find out how unlike clients are?

Messages (first principal directions) of many clients, relative to two other ways to the same vectors in the
same run: a full singular value decomposition of every client's rows, and one pass over all rows (their
means), below which nothing that looks at every row can go. Then the whole measure, for more and more clients.
Calls of what is compared alternate, and medians are taken.

    python benchmarks/likeness.py [--quick] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from measuring import medians
from threadpoolctl import threadpool_limits

from unalike.data import Federation
from unalike.data.similarity import measure_similarity
from unalike.data.similarity.misalignment import misalignment
from unalike.data.similarity.principal_direction import client_messages

Row = dict[str, Any]


def clients_with(clients: int, rows: int, features: int) -> Federation:
    """Pixels between 0 and 1, of which each client prefers some."""
    rng = np.random.default_rng(0)
    x = rng.random((clients * rows, features), np.float32)
    for i in range(clients):
        x[i * rows : (i + 1) * rows] *= rng.random(features, np.float32)
    owners = np.repeat(np.arange(clients), rows)
    return Federation.from_owners(x, np.zeros(len(x), np.int64), owners)


def by_decomposition(federation: Federation) -> np.ndarray[Any, Any]:
    """The same messages from singular value decompositions, with the sign of the mean."""

    def decompose(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        vector = np.linalg.svd(x, full_matrices=False)[2][0]
        return vector * np.sign(vector @ x.mean(axis=0))

    return of_every_client(decompose, federation)


def one_pass(federation: Federation) -> np.ndarray[Any, Any]:
    """Every client's mean row."""
    return of_every_client(lambda x: x.mean(axis=0), federation)


def of_every_client(
    function: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]], federation: Federation
) -> np.ndarray[Any, Any]:
    """A function of each client's rows; clients share the cores, as those of messages do."""
    rows = (federation.train.client(i)[0] for i in range(len(federation)))
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(os.cpu_count()) as cores:
        return np.stack(list(cores.map(function, rows)))


def message_costs(clients: int, rows: int, features: int, times: int) -> Row:
    """Messages against a decomposition (of some clients, scaled up) and against one pass."""
    federation = clients_with(clients, rows, features)
    few = federation.subset(np.arange(min(clients, 10)))
    seconds = medians(
        {
            "messages": lambda: client_messages(federation.train),
            "decompositions of ten": lambda: by_decomposition(few),
            "one pass": lambda: one_pass(federation),
        },
        times,
        warm_up=0,
    )
    gap = misalignment(client_messages(few.train)[1], _unit(by_decomposition(few)))
    return {
        "clients": clients,
        "rows": rows,
        "features": features,
        "seconds": seconds["messages"],
        "decompositions": seconds["decompositions of ten"] * clients / len(few) / seconds["messages"],
        "passes": seconds["messages"] / seconds["one pass"],
        "largest misalignment with the decomposition": float(np.diag(gap).max()),
    }


def measure_costs(clients: int, rows: int, features: int) -> Row:
    """Graph, spectrum, reference and groups of so many clients, over their messages alone."""
    federation = clients_with(clients, rows, features)
    seconds = medians(
        {
            "messages": lambda: client_messages(federation.train),
            "everything": lambda: measure_similarity(federation).as_dict(),
        },
        1,
        warm_up=0,
    )
    return {
        "clients": clients,
        "rows": rows,
        "features": features,
        "seconds": seconds["everything"],
        "messages": seconds["everything"] / seconds["messages"],
    }


def _unit(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    wide = vectors.astype(np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def main() -> None:
    """Run everything and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems: does it still run?")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    size = (50, 100, 64, 2) if options.quick else (1000, 1000, 784, 3)
    counts = (20, 60) if options.quick else (100, 1000, 10_000)
    rows = [message_costs(*size)]
    print(rows[-1], flush=True)
    for clients in counts:
        rows.append(measure_costs(clients, 20, size[2]))
        print(rows[-1], flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
