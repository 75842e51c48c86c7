"""Weights of a whole run: what do its rounds, clients and rows count in all, and how many rows is that worth?

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), equations 6, 14 and 15:

    q(t)    = W(t) / sum_s W(s),                         W(t) = sum_m W_m(t)
    p_{m,i} = sum_t 1{i in I_m(t)} lambda_m(t, i) / sum_s W(s),      p_m = sum_i p_{m,i}
    N_eff   = 1 / sum_{m,i} p_{m,i}^2  <=  N

for rounds in which all clients take part. N are the rows that arrive in the run; rows that a memory has no
room for count nothing, so that N_eff tells of them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...typing import Float64s, Int64s
from .realized_weights import effective_samples

if TYPE_CHECKING:
    from .stream import MemoryStream


class RunWeights(NamedTuple):
    """What rounds, clients and rows of a run count."""

    rounds: Float64s
    """q(t) of every round of training; zeros where nobody counts."""
    clients: Float64s
    """p_m."""
    rows: Int64s
    """N_m: the rows that each client receives in these rounds."""
    effective: float
    """N_eff; 0 where nobody counts."""

    @property
    def fraction(self) -> float:
        """N_eff / N."""
        return self.effective / max(int(self.rows.sum()), 1)


def weights_of_run(stream: MemoryStream, rounds: Sequence[int]) -> RunWeights:
    """The weights of a run whose rounds are these rounds of the stream, of which some may be repeated."""
    numbers, times = np.unique(np.asarray(rounds, np.int64), return_counts=True)
    each = stream.row_totals(dict(zip(numbers.tolist(), times.tolist(), strict=True)))
    whole, owners = each.sum(), np.repeat(np.arange(len(stream.sizes)), stream.sizes)
    p = each / whole if whole > 0 else each
    totals = np.array([stream.round_weight(t) for t in numbers.tolist()])
    q = totals[np.searchsorted(numbers, rounds)] if len(numbers) else np.zeros(0)
    return RunWeights(
        q / q.sum() if q.sum() > 0 else q,
        np.bincount(owners, p, minlength=len(stream.sizes)).astype(np.float64),
        stream.arrivals.arrived(int(numbers.max(initial=-1))),
        effective_samples(p),
    )
