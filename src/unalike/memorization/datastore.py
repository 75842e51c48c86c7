"""The datastore of a client: representations and labels of its rows.

A :class:`Datastore` is a client's private memory: for each remembered row the representation that a trained
model gives it (its key) and its label. It is made by one forward pass and never leaves the client.

    store_t = { (phi(x_i), y_i) : i in data_t }

A store never changes: adding, forgetting or packing rows gives another one. Keys are compared in single
precision, but may be kept in 16 or 8 bits (see :meth:`Datastore.packed`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import generator
from ..errors import ConfigError, DataError, unknown
from ..runs import load_tensors, save_tensors
from ..runs.tensors import flatten
from ..typing import Array, Float32s, Int64s, Params

PRECISIONS = {"float32": 4, "float16": 2, "int8": 1}
"""Bytes of one number of a key."""


@dataclass(frozen=True, eq=False)
class Datastore:
    """Remembered rows, in the order in which they came.

    >>> store = Datastore.of([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    >>> len(store), len(store.forget([0])), store.nbytes
    (2, 1, 56)
    """

    codes: Array
    """The keys as they are kept: float32, float16, or whole numbers that `scale` multiplies."""
    labels: Array
    ids: Int64s
    times: Int64s
    scale: Float32s | None = None
    model: str = ""
    """The fingerprint of the model that made the keys."""
    dropped: int = 0
    """Rows that were refused because their key was not finite."""
    next_id: int = 0

    @classmethod
    def of(
        cls,
        keys: ArrayLike,
        labels: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        time: int = 0,
        model: str = "",
    ) -> Datastore:
        """A store of these rows; ids count from zero when they are not given."""
        rows, values = np.asarray(keys, np.float32), np.asarray(labels)
        if rows.ndim != 2 or len(rows) != len(values):
            raise DataError(
                f"a store needs one key (a vector) per label, but got {rows.shape} and {values.shape}."
            )
        return cls.empty(rows.shape[1], values, model).add(rows, values, ids=ids, time=time)

    @classmethod
    def empty(cls, dimension: int, labels: ArrayLike | None = None, model: str = "") -> Datastore:
        """A store without rows, for labels of the same kind as those given (whole numbers by default)."""
        like = np.zeros(0, np.int32) if labels is None else np.asarray(labels)[:0]
        kind = like.astype(np.int32 if like.dtype.kind in "iub" else np.float32)
        none = np.zeros(0, np.int64)
        return cls(np.zeros((0, dimension), np.float32), kind, none, none, model=model)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def keys(self) -> Float32s:
        """The keys in single precision."""
        keys = self.codes.astype(np.float32, copy=False)
        return keys if self.scale is None else keys * self.scale

    @property
    def dimension(self) -> int:
        """The length of a key."""
        return self.codes.shape[1]

    @property
    def precision(self) -> str:
        """How keys are kept."""
        return self.codes.dtype.name

    @property
    def nbytes(self) -> int:
        """The bytes of everything that is kept per row, and of the scale."""
        scale = 0 if self.scale is None else self.scale.nbytes
        return self.codes.nbytes + self.labels.nbytes + self.ids.nbytes + self.times.nbytes + scale

    def add(
        self, keys: ArrayLike, labels: ArrayLike, *, ids: ArrayLike | None = None, time: int | None = None
    ) -> Datastore:
        """Remember these rows too, as the newest; rows whose key is not finite are dropped and counted."""
        rows, values = np.asarray(keys, np.float32), np.asarray(labels)
        if rows.shape != (len(values), self.dimension) or values.shape[1:] != self.labels.shape[1:]:
            raise DataError(
                f"keys of shape {rows.shape} and labels of shape {values.shape} do not fit a store of keys "
                f"of length {self.dimension} and labels of shape {self.labels.shape[1:]}."
            )
        own = self._new_ids(len(rows), ids)
        good = np.isfinite(rows).all(axis=1)
        moment = (int(self.times.max(initial=-1)) + 1) if time is None else time
        return replace(
            self,
            codes=np.concatenate([self.codes, self._encode(rows[good])]),
            labels=np.concatenate([self.labels, values[good].astype(self.labels.dtype)]),
            ids=np.concatenate([self.ids, own[good]]),
            times=np.concatenate([self.times, np.full(int(good.sum()), moment, np.int64)]),
            dropped=self.dropped + int((~good).sum()),
            next_id=max(self.next_id, int(own.max(initial=-1)) + 1),
        )

    def take(self, rows: ArrayLike | slice) -> Datastore:
        """Only these rows (numbers or a mask), which keep their ids and times."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        parts = {name: getattr(self, name)[chosen] for name in ("codes", "labels", "ids", "times")}
        return replace(self, **parts)

    def newest(self, rows: int) -> Datastore:
        """The rows that came last."""
        return self.take(slice(max(0, len(self) - rows), None))

    def subsample(self, capacity: float, seed: int = 0, client: int = 0) -> Datastore:
        """A random part of the rows: a fraction (`0.5`) or a number (`100`); those kept stay in order."""
        kept = rows_kept(capacity, len(self))
        if kept == len(self):
            return self
        drawn = generator(seed, "memory", client).permutation(len(self))[:kept]
        return self.take(np.sort(drawn))

    def forget(self, ids: ArrayLike) -> Datastore:
        """The store without the rows of these ids; an id that is not there is an error."""
        gone = np.unique(np.atleast_1d(np.asarray(ids, np.int64)))
        missing = np.setdiff1d(gone, self.ids)
        if len(missing):
            raise DataError(f"row {missing[0]} cannot be forgotten, because it is not in the store.")
        return self.take(~np.isin(self.ids, gone))

    def packed(self, precision: str) -> Datastore:
        """The same rows with keys in `float32`, `float16` or `int8` (one scale per coordinate)."""
        if precision not in PRECISIONS:
            raise unknown("precision", precision, PRECISIONS)
        keys, scale = self.keys, None
        if precision == "int8":
            scale = np.maximum(np.abs(keys).max(axis=0, initial=0.0) / 127, np.finfo(np.float32).tiny)
        bare = replace(self, codes=np.zeros((0, self.dimension), precision), scale=scale)
        return replace(bare, codes=bare._encode(keys))

    def memory(self) -> dict[str, float]:
        """How much is kept: rows, bytes in all, and bytes per row of keys and of labels."""
        per_row = self.labels.nbytes / max(len(self), 1)
        return {
            "rows": len(self),
            "bytes": self.nbytes,
            "key_bytes_per_row": self.dimension * PRECISIONS[self.precision],
            "label_bytes_per_row": per_row,
            "dropped": self.dropped,
        }

    def check_model(self, model: str) -> None:
        """Refuse keys that another model made."""
        if self.model != model:
            raise ConfigError(
                "this store is stale: another model made its keys; build it again with the present model."
            )

    def save(self, path: str | Path) -> None:
        """Write the store as a safetensors file."""
        tensors = {name: getattr(self, name) for name in ("codes", "labels", "ids", "times")}
        if self.scale is not None:
            tensors["scale"] = self.scale
        words = {"model": self.model, "dropped": str(self.dropped), "next_id": str(self.next_id)}
        save_tensors(path, tensors, {"kind": "datastore", **words})

    @classmethod
    def load(cls, path: str | Path, model: str | None = None) -> Datastore:
        """Read a saved store; with `model`, one that another model made is refused."""
        tensors, words = load_tensors(path)
        if words.get("kind") != "datastore":
            raise DataError(f"{path} holds no datastore.")
        store = cls(
            **tensors, model=words["model"], dropped=int(words["dropped"]), next_id=int(words["next_id"])
        )
        if model is not None:
            store.check_model(model)
        return store

    def _encode(self, keys: Float32s) -> Array:
        if self.scale is None:
            # A number beyond the range of half precision becomes its largest one, not infinity.
            limit = np.finfo(self.codes.dtype).max
            return np.clip(keys, -limit, limit).astype(self.codes.dtype)
        return np.clip(np.rint(keys / self.scale), -127, 127).astype(self.codes.dtype)

    def _new_ids(self, rows: int, ids: ArrayLike | None) -> Int64s:
        if ids is None:
            return np.arange(self.next_id, self.next_id + rows, dtype=np.int64)
        own = np.asarray(ids, np.int64)
        if own.shape != (rows,) or len(np.unique(np.concatenate([own, self.ids]))) < rows + len(self):
            raise DataError("ids of rows must be one for each row, and all different.")
        return own


def rows_kept(capacity: float, rows: int) -> int:
    """How many of `rows` a capacity keeps: a part of them (a float up to 1.0), or a number (an int).

    >>> rows_kept(0.29, 100), rows_kept(1.0, 7), rows_kept(1, 7), rows_kept(50, 7)
    (29, 7, 1, 7)
    """
    whole = isinstance(capacity, int | np.integer)
    if isinstance(capacity, bool | np.bool_) or not (capacity >= 0 and (whole or capacity <= 1)):
        raise ConfigError(
            "capacity must be a part from 0.0 to 1.0 or a whole number of rows (1 is one row, 1.0 all of "
            f"them), but is {capacity}."
        )
    # A fraction such as 0.29 of 100 is a little less than 29 in binary.
    return min(int(capacity), rows) if whole else int(np.floor(capacity * rows + 1e-9))


def fingerprint(params: Params) -> str:
    """A short hash of a model, by which a store knows whose keys it holds."""
    digest = hashlib.blake2b(digest_size=16)
    for name, leaf in sorted(flatten(params).items()):
        digest.update(f"{name} {leaf.dtype} {leaf.shape};".encode())
        digest.update(leaf.tobytes())
    return digest.hexdigest()
