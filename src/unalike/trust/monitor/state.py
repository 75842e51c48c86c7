"""Monitor state: each client's last update, windows of signals, verdicts.

Uploads are compared with the model that this very client was sent and with its own last update, whenever that
was: so samplers that draw it rarely, and results that arrive late, change nothing. Everything is in arrays,
so that a resumed run goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...timing import Step
from ...typing import Array, Bools, Float64s, Int64s, PyTree
from .decisions import Evidence

WINDOWED = ("consecutive", "normal", "spread", "gain")
"""Signals that are averaged, or fitted, over a window."""
COUNTED = ("seen", "replays", "caught", "verdicts")
DIGEST_BYTES = 32


class MonitorState:
    """What is known of each client; grows with what it is told."""

    def __init__(self, clients: int) -> None:
        self.clients = clients
        self.forget()

    def forget(self) -> None:
        """Nothing is known."""
        n = self.clients
        self.window = 0
        self.seen: Int64s = np.zeros(n, np.int64)
        self.replays: Int64s = np.zeros(n, np.int64)
        self.caught: Bools = np.zeros(n, bool)
        self.verdicts: Int64s = np.zeros(n, np.int64)
        self.signals: dict[str, Float64s] = {}
        self.updates: dict[int, Array] = {}
        """Each client's last update."""
        self.sent_to: dict[int, str] = {}
        """The digest of the model that each client was sent last; the model is below."""
        self.models: dict[str, Array] = {}
        self.ever_sent: dict[str, None] = {}
        """Digests of all models that were ever sent."""
        self.layers: Int64s = np.zeros(0, np.int64)
        """The sizes of an upload's parts."""
        self.template: PyTree = None
        """The shapes of an upload."""
        self.declared: Step | None = None
        """The last step as it was asked for, before anybody was left out."""
        self.measured: dict[str, Array] = {}
        """What was found in the last step, one number per client."""

    def begin(self, window: int, layers: Int64s) -> None:
        """Windows hold so many rounds, uploads have parts of these sizes."""
        self.window, self.layers = window, layers
        self.signals = {name: np.full((self.clients, window), np.nan) for name in WINDOWED}

    def note(
        self, client: int, update: Array, sent: Array, sent_digest: str, signals: Mapping[str, float]
    ) -> None:
        """One more update of a client, and the model that it started from."""
        place = self.seen[client] % self.window
        for name in WINDOWED:
            self.signals[name][client, place] = signals[name]
        self.seen[client] += 1
        self.updates[client], self.sent_to[client] = update.copy(), sent_digest
        self.ever_sent[sent_digest] = None
        if sent_digest not in self.models:
            self.models[sent_digest] = sent.copy()

    def drop_old_models(self) -> None:
        """Keep the models that are some client's last one."""
        needed = set(self.sent_to.values())
        self.models = {name: model for name, model in self.models.items() if name in needed}

    def last_sent(self, client: int) -> Array | None:
        """The model that a client was sent last."""
        return self.models[self.sent_to[client]] if client in self.sent_to else None

    def times(self, client: int) -> Int64s:
        """Which of the client's updates each place of its window is about, counted from 1; 0 for none."""
        places, seen = np.arange(self.window), int(self.seen[client])
        last = seen - 1 - (seen - 1 - places) % self.window
        return np.where(last >= 0, last + 1, 0) if seen else np.zeros(self.window, np.int64)

    def evidence(self) -> Evidence:
        """What verdicts are based on."""
        means = {name: mean_of_known(self.signals[name]) for name in ("consecutive", "normal")}
        best = np.fmax.reduce(self.signals["gain"], axis=1)
        return Evidence(self.seen, means["consecutive"], means["normal"], self.caught, self.replays, best)

    def state(self) -> dict[str, Array]:
        """Everything, as arrays; models that several clients were sent are there once."""
        known, place = sorted(self.updates), {name: i for i, name in enumerate(self.models)}
        arrays = {name: getattr(self, name) for name in COUNTED}
        arrays |= {f"signal_{name}": values for name, values in self.signals.items()}
        arrays |= {
            "known": np.array(known, np.int64),
            "sent_to": np.array([place[self.sent_to[client]] for client in known], np.int64),
            "names": as_bytes(self.models),
            "ever_sent": as_bytes(self.ever_sent),
        }
        if known:
            arrays["updates"] = np.stack([self.updates[client] for client in known])
            arrays["models"] = np.stack(list(self.models.values()))
        return {name: values.copy() for name, values in arrays.items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""
        for name in COUNTED:
            setattr(self, name, state[name].copy())
        self.signals = {name: state[f"signal_{name}"].copy() for name in WINDOWED}
        known, names = state["known"].tolist(), as_words(state["names"])
        self.ever_sent = dict.fromkeys(as_words(state["ever_sent"]))
        self.updates = {client: state["updates"][i].copy() for i, client in enumerate(known)}
        self.models = {name: state["models"][i].copy() for i, name in enumerate(names)}
        self.sent_to = {client: names[k] for client, k in zip(known, state["sent_to"].tolist(), strict=True)}


def as_bytes(digests: Iterable[str]) -> Array:
    """Digests as rows of bytes.

    >>> as_words(as_bytes(["00" * 32, "ab" * 32]))[1][:4]
    'abab'
    """
    return np.frombuffer(bytes.fromhex("".join(digests)), np.uint8).reshape(-1, DIGEST_BYTES)


def as_words(rows: Array) -> list[str]:
    """The inverse of :func:`as_bytes`."""
    return [row.astype(np.uint8).tobytes().hex() for row in rows]


def mean_of_known(values: Float64s) -> Float64s:
    """The mean of each row without its NaNs; NaN where nothing else is there.

    >>> mean_of_known(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([ 1., nan])
    """
    known = ~np.isnan(values)
    count = known.sum(1)
    total = np.where(known, values, 0.0).sum(1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
