"""Effective number of samples: the realized importance of every row over a run.

    p_{m,i} = sum_t 1{i in I_m(t)} lambda_m(t, i) / sum_{s,k} W_k(s),      N_eff = 1 / sum_{m,i} p_{m,i}^2

(Marfoq, Neglia, Kameni and Vidal, "Federated Learning for Data Streams", 2023): N_eff is at most the number
of rows, and is that number if and only if all of them counted the same.
"""

from __future__ import annotations

import numpy as np

from ...typing import Float64s
from .stream import MemoryStream


def row_importance(stream: MemoryStream, rounds: int, rows: int) -> Float64s:
    """p_{m,i} of each of a federation's training rows after so many rounds in which all clients took part;
    zeros where nobody counted."""
    everyone = np.arange(len(stream.held(0)))
    counted = np.zeros(rows)
    for round in range(rounds):
        found, totals = stream.select(round, everyone), stream.totals(round)
        held = np.diff(found.offsets)
        each = np.repeat(totals / np.maximum(held, 1), held)
        np.add.at(counted, found.rows, each if found.weights is None else each * found.weights)
    whole = counted.sum()
    return counted / whole if whole > 0 else counted
