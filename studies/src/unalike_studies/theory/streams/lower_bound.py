"""A lower bound: the smallest stream on which more rounds cannot make up for forgotten rows.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). One client holds one row at a
time, a first one in the first part of the rounds (which has the weight q in the average) and then another,
with losses l1 = (x+1)^2 + (x+y+1)^2 / 2 and l2 = (x-1)^2 / 2 + (x+y-1)^2 / 2 on [-1, 1]^2. Each part ends at
the optimum of its own row, so the averaged model goes to (1 - 2q, 0), whose loss q l1 + (1-q) l2 is above the
least by

    2 q^2 (1 - q)^2 / (1 + q),     1/12 for q = 1/2, however many rounds there are.

The published gap, at least 6 q (1 - q), is not reached; that it does not vanish is true.
"""

from __future__ import annotations

import numpy as np

from unalike.typing import Float64s

HESSIANS = np.array([[[3.0, 1.0], [1.0, 1.0]], [[2.0, 1.0], [1.0, 1.0]]])
OPTIMA = np.array([[-1.0, 0.0], [1.0, 0.0]])


def loss(point: Float64s, q: float = 0.5) -> float:
    """q l1 + (1 - q) l2.

    >>> loss(np.array([-1.0, 0.0]), q=1.0), loss(np.array([1.0, 0.0]), q=0.0)
    (0.0, 0.0)
    """
    apart = point - OPTIMA
    halves = 0.5 * np.einsum("ki,kij,kj->k", apart, HESSIANS, apart)
    return float(q * halves[0] + (1 - q) * halves[1])


def minimizer(q: float = 0.5) -> Float64s:
    """Where q l1 + (1 - q) l2 is least: x = (1 - 3q) / (1 + q), x + y = 1 - 2q.

    >>> minimizer(0.5).round(4)
    array([-0.3333,  0.3333])
    """
    x = (1 - 3 * q) / (1 + q)
    return np.array([x, 1 - 2 * q - x])


def lasting_gap(q: float = 0.5) -> float:
    """What the averaged model loses for ever.

    >>> round(1 / lasting_gap(0.5), 9)
    12.0
    """
    return 2 * q**2 * (1 - q) ** 2 / (1 + q)


def variability(q: float = 0.5) -> float:
    """s^2 of the two rows: q (1-q) times the largest ||grad l1 - grad l2||^2 = (x + 5)^2 + 4 <= 40.

    Half of it, 20 q (1-q), if both rows are drawn independently and may be the same one.

    >>> variability(0.5)
    10.0
    """
    return 40 * q * (1 - q)


def measured_gap(rounds: int, local_steps: int = 20, learning_rate: float = 0.1) -> float:
    """What the averaged model loses after gradient descent with the first row for half the rounds, then with
    the other; it starts in the middle.

    >>> 0.05 < measured_gap(100) < 0.1
    True
    """
    point, total = np.zeros(2), np.zeros(2)
    shrink = [
        np.linalg.matrix_power(np.eye(2) - learning_rate * hessian, local_steps) for hessian in HESSIANS
    ]
    for t in range(rounds):
        total += point
        row = int(t >= rounds // 2)
        point = np.clip(OPTIMA[row] + shrink[row] @ (point - OPTIMA[row]), -1, 1)
    return loss(total / rounds) - loss(minimizer())
