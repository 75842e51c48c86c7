"""What does a round of federated Gaussian processes cost?

A round in which 100 clients each take one step over all of their 200 rows, relative to the Cholesky factors
of the same 100 matrices computed one after the other in the same run, by the same library. The gradient needs
the inverse of every factor beside (about five times the arithmetic of a factor, done as products of
matrices), which is timed, too. Calls of what is compared alternate, and medians are taken.

    python benchmarks/gaussian_process.py [--quick] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from measuring import medians
from threadpoolctl import threadpool_limits

from unalike.analytics.design import Design
from unalike.analytics.gaussian_process import FGPR, Kernel
from unalike.analytics.gaussian_process.fgpr import PROCESS_TASK
from unalike.analytics.gaussian_process.likelihood import invert_triangle
from unalike.core.precision import precision
from unalike.data import Federation
from unalike.training.train import train

Row = dict[str, Any]


def clients_with(clients: int, rows: int) -> Federation:
    """Noisy waves of one input."""
    rng = np.random.default_rng(0)
    x = rng.random((clients * rows, 1))
    y = np.sin(6 * x[:, 0]) + 0.2 * rng.normal(size=len(x))
    made = Federation.from_owners(x, y, np.repeat(np.arange(clients), rows))
    return Design.of(made, intercept=False).federation


def factors(federation: Federation, kernel: Kernel, inverses: bool) -> Callable[[], Any]:
    """The factors of all clients' covariances, one after the other on one core; perhaps their inverses."""
    params = kernel.vector()
    n, clients = int(federation.train.sizes[0]), len(federation)
    x = federation.train.x.reshape(clients, n, -1)
    tables = np.stack([kernel.covariance(params, rows, rows) + 0.01 * np.eye(n) for rows in x])

    def one(table: jax.Array) -> jax.Array:
        factor = lax.linalg.cholesky(table, symmetrize_input=False)
        if not inverses:
            return factor[-1]
        inverse = invert_triangle(factor)
        return (inverse.T @ inverse)[-1]

    program = jax.jit(lambda given: lax.map(one, given))
    placed = jnp.asarray(tables)
    return lambda: jax.block_until_ready(program(placed))


def round_cost(clients: int, rows: int, times: int, each: int) -> Row:
    """Seconds of a round (the mean of `each` in one training, less one without rounds), and ratios."""
    federation, kernel = clients_with(clients, rows), Kernel("rbf")
    method = FGPR(kernel=kernel, local_steps=1, batch_size=0)

    def rounds(count: int) -> Callable[[], Any]:
        return lambda: jax.block_until_ready(
            train(federation, PROCESS_TASK, method, rounds=count, evaluate_every=0).state
        )

    with precision(double=True), threadpool_limits(1, "blas"):
        seconds = medians(
            {
                "few": rounds(1),
                "many": rounds(1 + each),
                "factors": factors(federation, kernel, inverses=False),
                "inverses": factors(federation, kernel, inverses=True),
            },
            times,
        )
    round_seconds = (seconds["many"] - seconds["few"]) / each
    return {
        "clients": clients,
        "rows": rows,
        "round": round_seconds,
        "factors": seconds["factors"],
        "round over factors": round_seconds / seconds["factors"],
        "round over factors and inverses": round_seconds / seconds["inverses"],
    }


def main() -> None:
    """Run everything and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems: does it still run?")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    sizes = ((10, 30),) if options.quick else ((100, 50), (100, 200))
    rows = []
    for clients, each in sizes:
        rows.append(round_cost(clients, each, 3 if options.quick else 7, 5))
        print(rows[-1], flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
