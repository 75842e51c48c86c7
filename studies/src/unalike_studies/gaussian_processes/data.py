"""Rows of the study of Gaussian processes: drawn processes, stand-ins, and real files.

Stand-ins follow published systems: engines that wear out exponentially (the NASA turbofans of table C.1), and
the torques of a planar arm with two links (for the SARCOS arm of table 4.3). The real files are read where
UNALIKE_DATA has them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.io import loadmat
from scipy.linalg import cholesky

from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.sources.files import local, reading
from unalike.data.tables import load_tables
from unalike.typing import Float64s

Rows = tuple[Float64s, Float64s]
LONGEST_LIFE = 362
"""Cycles of the engine that lives longest; time is measured in them, not in shares of a life."""
GRAVITY = 9.81


class Truth(NamedTuple):
    """Clients whose functions are drawn from one process, and its hyper-parameters."""

    federation: Federation
    params: Float64s
    """Signal, noise and length."""


def federation_of(clients: list[Rows]) -> Federation:
    """Clients whose rows all train."""
    x, y = (np.concatenate([rows[part] for rows in clients]) for part in (0, 1))
    owners = np.repeat(np.arange(len(clients)), [len(rows[1]) for rows in clients])
    return Federation.from_owners(x, y, owners, classes=None)


def draw_clients(kernel: str, clients: int, rows: int, seed: int) -> Truth:
    """Functions of one input drawn from a process with random hyper-parameters, seen with noise."""
    rng = generator(seed, "drawn processes")
    params = np.array([rng.uniform(0.5, 5), rng.uniform(0.05, 1), rng.uniform(0.1, 1)])
    made, drawn = Kernel(kernel), []
    for _ in range(clients):
        x = rng.random((rows, 1))
        table = made.covariance(np.log(params), x, x) + 1e-8 * params[0] ** 2 * np.eye(rows)
        f = cholesky(table, lower=True) @ rng.normal(size=rows)
        drawn.append((x, f + params[1] * rng.normal(size=rows)))
    return Truth(federation_of(drawn), params)


def wearing_engines(seed: int, engines: int = 100) -> list[Rows]:
    """A sensor of engines that wear out: cycles as input, an exponential with noise as output."""
    rng, made = generator(seed, "wearing engines"), []
    for _ in range(engines):
        life = int(rng.integers(128, LONGEST_LIFE + 1))
        level, growth, bend = rng.normal(0, 0.3), rng.uniform(0.8, 1.4), rng.uniform(3, 6)
        t = np.arange(1, life + 1)
        wear = 3 * growth * np.expm1(bend * t / life) / np.expm1(bend)
        made.append((t[:, None] / LONGEST_LIFE, level + wear + 0.45 * rng.normal(size=life)))
    return made


def arm_rows(rows: int, rng: np.random.Generator) -> Rows:
    """Angles, velocities and accelerations of two links, and the torque at the first joint."""
    q = rng.uniform(-np.pi, np.pi, (rows, 2))
    v, a = rng.normal(size=(rows, 2)), rng.normal(size=(rows, 2))
    cosine, bend = np.cos(q[:, 1]), -np.sin(q[:, 1])
    torque = (
        (3 + 2 * cosine) * a[:, 0]
        + (1 + cosine) * a[:, 1]
        + bend * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2)
        + 2 * GRAVITY * np.cos(q[:, 0])
        + GRAVITY * np.cos(q[:, 0] + q[:, 1])
    )
    return np.column_stack([q, v, a]), torque


def read_engines(sensor: int) -> list[Rows] | None:
    """Cycles and one sensor of the 100 training engines of FD001, or None without the file."""
    if local("cmapss/train_FD001.txt") is None:
        return None
    engines = load_tables("cmapss").values()
    return [(rows["cycle"][:, None] / LONGEST_LIFE, rows[f"sensor{sensor}"]) for rows in engines]


def read_arm() -> tuple[Float64s, Float64s] | None:
    """21 inputs and 7 torques of the SARCOS arm's test part, or None without the file."""
    path = local("sarcos_inv_test.mat")
    if path is None:
        return None
    with reading(path, "a table of 28 columns"):
        (table,) = (values for name, values in loadmat(path).items() if not name.startswith("__"))
        return np.asarray(table[:, :21], np.float64), np.asarray(table[:, 21:], np.float64)
