"""Measuring the signals of one step's uploads, in the order of the step.

    update = upload - the model that this client was sent

Compared with the client's own past, with the other clients of the step, and with the way the model itself has
gone since the client was last sent it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...typing import Array, Bools, Float64s, Int64s
from . import signals
from .state import MonitorState

Loss = Callable[[Array], float]


class AcceptedUploads(NamedTuple):
    """The uploads of a step that were accepted and count, one row each."""

    clients: Int64s
    uploads: Array
    sent: Array

    @property
    def updates(self) -> Array:
        """How each upload differs from what its client was sent; the upload itself if they are not alike."""
        return self.uploads - self.sent if self.uploads.shape == self.sent.shape else self.uploads


SIGNALS = (
    *("norm_ratio", "consecutive", "to_others", "normal", "kurtosis", "beyond", "zeros", "layers"),
    *("replay", "spread", "slope", "fit", "gain"),
)
"""What is known of each update."""


def measure(
    arrived: AcceptedUploads, book: MonitorState, normality: bool = True, loss: Loss | None = None
) -> dict[str, Float64s]:
    """All signals of every upload; NaN where one is not defined. `loss` is that of a model, as one vector, on
    rows of the server's own."""
    updates = arrived.updates.astype(np.float64)
    columns: dict[str, list[float]] = {name: [] for name in SIGNALS}
    columns["norm_ratio"] = norm_ratios(np.linalg.norm(updates, axis=1)).tolist()
    columns["gain"] = gains(arrived, loss)
    total = updates.sum(0)
    for client, update, sent in zip(arrived.clients.tolist(), updates, arrived.sent, strict=True):
        columns["to_others"].append(signals.cosine(update, total - update))
        for name, value in of_shape(update, book.layers, normality).items():
            columns[name].append(value)
        for name, value in of_past(client, update, sent, book).items():
            columns[name].append(value)
    return {name: np.array(values) for name, values in columns.items()}


def norm_ratios(norms: Float64s) -> Float64s:
    """Each length over the median length of the others.

    >>> norm_ratios(np.array([1.0, 2.0, 4.0]))
    array([0.33333333, 0.8       , 2.66666667])
    """
    others = [np.median(np.delete(norms, i)) if len(norms) > 1 else np.nan for i in range(len(norms))]
    medians = np.array(others)
    return np.divide(norms, medians, out=np.full(len(norms), np.nan), where=medians > 0)


def gains(arrived: AcceptedUploads, loss: Loss | None) -> list[float]:
    """By how much each upload has a lower loss than what its client was sent."""
    if loss is None:
        return [float("nan")] * len(arrived.clients)
    before = {sent.tobytes(): loss(sent) for sent in arrived.sent}
    pairs = zip(arrived.uploads, arrived.sent, strict=True)
    return [before[sent.tobytes()] - loss(upload) for upload, sent in pairs]


def of_shape(update: Float64s, layers: Int64s, normality: bool) -> dict[str, float]:
    """What the entries of one update look like. Noise that clients add for their privacy looks like a lie:
    then it is not asked whether entries are Normal."""
    return {
        "normal": signals.distance_to_normal(update) if normality else float("nan"),
        "kurtosis": signals.excess_kurtosis(update) if normality else float("nan"),
        "beyond": signals.share_beyond(update) if normality else float("nan"),
        "zeros": signals.share_of_zeros(update),
        "layers": signals.layer_spread(update, layers),
        "spread": float(update.std()),
    }


def of_past(client: int, update: Float64s, sent: Array, book: MonitorState) -> dict[str, float]:
    """How an update goes on from the client's last one, and from the model's own way."""
    last, before = book.updates.get(client), book.last_sent(client)
    moved = None if before is None or before.shape != update.shape else sent.astype(np.float64) - before
    law = signals.PowerLaw(float("nan"), float("nan"))
    if book.seen[client]:
        times = np.append(book.times(client), book.seen[client] + 1).astype(np.float64)
        spreads = np.append(book.signals["spread"][client], update.std())
        law = signals.power_law(times, np.nan_to_num(spreads))
    return {
        "consecutive": float("nan") if last is None else signals.cosine(update, last.astype(np.float64)),
        "replay": float("nan") if moved is None else signals.cosine(update, moved),
        "slope": law.slope,
        "fit": law.fit,
    }


def idle(arrived: AcceptedUploads) -> Bools:
    """Who sent back what it was sent."""
    pairs = zip(arrived.updates.astype(np.float64), arrived.sent.astype(np.float64), strict=True)
    return np.array([signals.is_zero(update, sent) for update, sent in pairs], bool)


def find_copies(digests: list[str]) -> Bools:
    """Who sent what another client sent, too.

    >>> find_copies(["a", "b", "a"]).tolist()
    [True, False, True]
    """
    return np.array([digests.count(one) > 1 for one in digests], bool)
