"""A ledger of answers against differencing attacks, with a budget of questions.

For every column the ledger holds the row sets over which sums were answered. A new row set from which, with
the earlier ones, a combination of sums could be made that puts more than 1 / minimum cell count of its
squared weight on a row is made smaller: rows in a secret order are left out until no such combination exists.
The ledger is a file that only its owner can read (mode 0600), so that a restart forgets nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...data.tables import Table
from ...errors import RunError
from ...runs.atomic import replacing
from ...typing import Array, Document, Fields, Float64s
from .influence import is_within, largest_share_of_row
from .policy import DisclosureError

MOST_PADDING = 0.2
"""The part of the rows that may be left out beyond those with missing values."""


class DisclosureLedger:
    """Row sets, questions and rounds that were answered about one table.

    Args:
        table: The table; rows of another table are other rows, so row sets are kept by its digest.
        path: The file; None keeps everything in memory, with an order of rows that is always the same.
        asker: Whose budget of questions is used.
    """

    def __init__(self, table: Table, path: Path | None = None, asker: str = "server") -> None:
        self.path, self.asker, self.size = path, asker, len(table)
        self._digest = digest_table(table)
        self.loaded = 0
        """How often it was read from its file."""
        self._take(self._load())

    def reload(self) -> None:
        """Read the file again: a process that was forked earlier may have answered since."""
        if self.path is not None and self.path.exists():
            self._take(self._load())

    def _take(self, state: Document) -> None:
        self._state, self.loaded = state, self.loaded + 1
        of_table = self._state["tables"].setdefault(self._digest, {})
        self._sets: dict[str, list[str]] = of_table.setdefault("row_sets", {})
        self._resolved: dict[str, str] = of_table.setdefault("resolved", {})
        self._rounds: dict[str, list[list[float]]] = of_table.setdefault("rounds", {})
        self._designs: dict[str, Document] = of_table.setdefault("designs", {})
        self._noisy: dict[str, list[Any]] = of_table.setdefault("noisy_answers", {})
        self._order = np.random.default_rng(int(self._state["secret"], 16)).permutation(self.size)

    def charge(self, columns: Iterable[str], question: str, maximum: int) -> None:
        """Count a question against the budget of each of its columns; the same question counts once."""
        asked: dict[str, list[str]] = self._state["questions"].setdefault(self.asker, {})
        key, names = hashlib.sha256(question.encode()).hexdigest()[:32], sorted(set(columns))
        for name in names:
            if key not in asked.get(name, []) and len(asked.get(name, [])) >= maximum:
                raise DisclosureError(
                    f"the budget of {maximum} questions about column {name!r} is used up at this node; "
                    "ask its owner, who can raise --maximum-questions."
                )
        new = [name for name in names if key not in asked.setdefault(name, [])]
        for name in new:
            asked[name].append(key)
        if new:
            self._save()

    def release(self, wanted: Array, columns: Sequence[str], minimum: int) -> Array:
        """The row set over which sums of these columns may be answered; refused where there is none.

        Args:
            wanted: A mask of the rows that the question is about.
            columns: The columns of which sums are answered.
            minimum: The minimum cell count.
        """
        key = _pack(wanted)
        rows = _unpack(self._resolved[key], self.size) if key in self._resolved else wanted.copy()
        spare = [int(i) for i in self._order if rows[i]]
        most = max(4 * minimum, int(MOST_PADDING * self.size))
        for left_out in range(most + 1):
            if not self._discloses(rows, columns, minimum):
                break
            if left_out == most or left_out >= len(spare):
                raise DisclosureError(
                    "this node answered about nearly the same rows before, and the difference would disclose "
                    "few rows (rule against differencing)."
                )
            rows[spare[left_out]] = False
        self._record(key, rows, columns)
        return rows

    def designs(self) -> list[tuple[Document, Array]]:
        """What was asked for in every answer with sums of products, and over which rows."""
        return [(one["asked"], _unpack(one["rows"], self.size)) for one in self._designs.values()]

    def has_design(self, asked: Fields, rows: Array) -> bool:
        """Whether exactly this was answered before."""
        return _design_key(asked, rows) in self._designs

    def add_design(self, asked: Fields, rows: Array) -> None:
        """Remember an answer."""
        self._designs[_design_key(asked, rows)] = {"asked": dict(asked), "rows": _pack(rows)}
        self._save()

    def rounds(self, model: str) -> list[Float64s]:
        """Coefficients at which a model was evaluated, first to last."""
        return [np.array(point) for point in self._rounds.get(model, [])]

    def add_round(self, model: str, point: Float64s) -> None:
        """Remember coefficients at which a model is evaluated."""
        self._rounds.setdefault(model, []).append(point.tolist())
        self._save()

    @property
    def spent(self) -> float:
        """The charges of all noisy answers, also of those about earlier tables."""
        return float(self._state.get("spent", 0.0))

    def noisy_answer(self, key: str) -> Float64s | None:
        """The noisy answer to a question that was answered before."""
        known = self._noisy.get(hashlib.sha256(key.encode()).hexdigest())
        return None if known is None else np.array(known, np.float64)

    def add_noisy_answer(self, key: str, answer: Float64s, charge: float) -> None:
        """Remember a noisy answer and what it spends, before anybody sees it."""
        self._noisy[hashlib.sha256(key.encode()).hexdigest()] = answer.tolist()
        self._state["spent"] = self.spent + charge
        self._save()

    def _discloses(self, rows: Array, columns: Sequence[str], minimum: int) -> bool:
        if 0 < self.size - int(rows.sum()) < minimum or int(rows.sum()) < minimum:
            return True
        for name in columns:
            earlier = self._sets.get(name, [])
            if _pack(rows) in earlier:
                continue
            sets = np.array([*(_unpack(one, self.size) for one in earlier), rows])
            if not is_within(largest_share_of_row(sets), 1 / minimum):
                return True
        return False

    def _record(self, key: str, rows: Array, columns: Sequence[str]) -> None:
        packed, changed = _pack(rows), self._resolved.get(key) != _pack(rows)
        self._resolved[key] = packed
        for name in columns:
            known = self._sets.setdefault(name, [])
            if packed not in known:
                known.append(packed)
                changed = True
        if changed:
            self._save()

    def _load(self) -> Document:
        if self.path is None:
            return {"secret": "0", "tables": {}, "questions": {}}
        if not self.path.exists():
            return {"secret": secrets.token_hex(16), "tables": {}, "questions": {}}
        try:
            state = json.loads(self.path.read_text())
            known = {"secret", "tables", "questions"} <= set(state)
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"the disclosure ledger {self.path} cannot be read ({error}).") from None
        if not known:
            raise RunError(f"the disclosure ledger {self.path} is damaged; restore it from a copy.")
        return dict(state)

    def _save(self) -> None:
        if self.path is None:
            return
        with replacing(self.path) as temporary:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                json.dump(self._state, file)


def digest_table(table: Table) -> str:
    """A digest of all values of a table."""
    digest = hashlib.sha256()
    for name in table.names:
        digest.update(f"{name}\0{table[name].dtype}\0".encode())
        digest.update(np.ascontiguousarray(table[name]).tobytes())
    return digest.hexdigest()


def _design_key(asked: Fields, rows: Array) -> str:
    return hashlib.sha256((json.dumps(asked, sort_keys=True) + _pack(rows)).encode()).hexdigest()


def _pack(rows: Array) -> str:
    return np.packbits(rows).tobytes().hex()


def _unpack(packed: str, size: int) -> Array:
    return np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8), count=size).astype(bool)
