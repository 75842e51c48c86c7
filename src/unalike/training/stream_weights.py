"""Weights of a stream in the record: q(t), p_m and N_eff of the run, and what optimal weights assume.

Columns: `round_weight` is q(t), what each round counts in an average of models; at the end of a run,
`run_effective_samples` is N_eff, `run_effective_fraction` N_eff / N, and of every client `stream_weight` is
p_m and `stream_rows` N_m (:mod:`unalike.data.streams.run_weights`).
"""

from __future__ import annotations

import warnings
from typing import Any

from ..data.streams import Stream
from ..engine import Setting
from ..runs import Record
from ..typing import ClientIds

OUTSIDE = "optimal weights outside their assumptions"
ROUND, EFFECTIVE, FRACTION = "round_weight", "run_effective_samples", "run_effective_fraction"
CLIENT, CLIENT_ROWS = "stream_weight", "stream_rows"


def assumption_events(stream: Stream | None) -> list[dict[str, Any]]:
    """Warn where optimal weights are used for a stream that they are not derived for, and return it as an
    event."""
    use = None if stream is None else stream.fresh_use()
    if use is None or use.is_single:
        return []
    warnings.warn(
        "optimal stream weights are derived for fresh clients who receive as many rows in every round and "
        "use each in one round (a memory with capacity for one batch, such as replace), but here "
        f"{use.sentence}; they are used all the same.",
        stacklevel=3,
    )
    return [{"kind": OUTSIDE, "rounds_in_memory": use.longest, "rows_a_round": [use.fewest, use.most]}]


def note_stream_weights(record: Record, setting: Setting, done: int, clients: ClientIds) -> None:
    """Record what the rounds of a run, its clients and its rows counted, where a stream says so.

    Args:
        record: the record of the run, whose rounds are over.
        setting: says which stream it was.
        done: how many rounds there were.
        clients: those of whom something is recorded.
    """
    found = None if setting.stream is None or not done else setting.stream.run_weights(range(done))
    if found is None:
        return
    record.write_column(ROUND, {t + 1: q for t, q in enumerate(found.rounds.tolist())})
    of_clients = {CLIENT: found.clients[clients], CLIENT_ROWS: found.rows[clients]}
    whole = {EFFECTIVE: found.effective, FRACTION: found.fraction}
    record.write_round(done, whole, clients={"client": clients, **of_clients})
