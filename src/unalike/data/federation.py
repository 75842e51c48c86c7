"""The federation: all clients' rows.

A :class:`Federation` holds all clients' samples in flat arrays, one client after the other, with a table of
offsets. Nothing is padded, so a federation of a million clients is two arrays and a table, and may be a
memory map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from ..typing import Array, Float64s, Int64s, Keywords
from .arrays import clean_targets, gather_features, infer_classes
from .digests import digest_arrays
from .groups import Groups, check_groups, groups_of
from .importance import SIMILARITY, importance_of
from .preview import show_federation
from .train_test_split import PARTS, TEST, TRAIN, VALIDATION, assign_parts, check_fractions

if TYPE_CHECKING:
    from .preprocessing import Preparation

Classes = int | Literal["auto"] | None


@dataclass(frozen=True, eq=False)
class Split:
    """One client's rows after the other's; client i owns rows `offsets[i]` to `offsets[i + 1]`."""

    x: Array
    y: Array
    offsets: Int64s

    @property
    def sizes(self) -> Int64s:
        """How many rows every client has."""
        return np.diff(self.offsets)

    @cached_property
    def owners(self) -> NDArray[np.int32]:
        """The client of every row."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.sizes)

    @cached_property
    def digest(self) -> str:
        """A digest of all rows and of whose they are."""
        return digest_arrays(self.offsets, self.x, self.y)

    def client(self, i: int) -> tuple[Array, Array]:
        """The rows of client i, as views."""
        rows = slice(self.offsets[i], self.offsets[i + 1])
        return self.x[rows], self.y[rows]

    def take(self, clients: ArrayLike) -> Split:
        """The rows of some clients, in the order given."""
        chosen = np.asarray(clients, dtype=np.int64)
        sizes = self.sizes[chosen]
        offsets = _offsets(sizes)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return Split(self.x[rows], self.y[rows], offsets)


@dataclass(frozen=True, eq=False, repr=False)
class Federation:
    """Clients with train, validation and test rows.

    >>> federation = Federation.from_owners(np.eye(4), np.array([0, 1, 1, 0]), np.array([1, 0, 1, 0]))
    >>> len(federation), federation.train.sizes, federation.classes
    (2, array([2, 2]), 2)
    """

    train: Split
    validation: Split
    test: Split
    classes: int | None
    names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    description: str = ""
    given_importance: Float64s | None = None
    """How much each client counts, where that is not its share of all training rows."""
    columns: tuple[str, ...] | None = None
    """What the features are called, in order, where they came from tables with a header."""
    target: str | None = None
    """The column that is predicted, where there is one."""
    groups: Groups | None = None
    """The group of every client, where clients belong to groups."""
    preparation: Preparation | None = None
    """How columns of tables became features, where they were not numbers of a moderate size already."""
    dropped_columns: tuple[tuple[str, str], ...] = ()
    """Text columns that were left out because their values single out rows, and what is said of each."""

    def __post_init__(self) -> None:
        lengths = {len(part.offsets) for part in (self.train, self.validation, self.test)}
        if len(lengths) != 1 or (self.names is not None and {len(self.names) + 1} != lengths):
            raise DataError("train, validation, test and names must speak of the same number of clients.")
        if self.groups is not None:
            check_groups(self.groups, len(self))

    def __len__(self) -> int:
        return len(self.train.offsets) - 1

    def __repr__(self) -> str:
        return show_federation(self)

    def name(self, i: int) -> str:
        """What client i is called."""
        return str(i) if self.names is None else self.names[i]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.train.x.shape[1:])

    @property
    def importance(self) -> Float64s:
        """How much each client counts: its share of all training rows, unless something else was given."""
        if self.given_importance is not None:
            return self.given_importance
        return importance_of("data", self.train.sizes)

    def with_importance(self, policy: str | ArrayLike) -> Federation:
        """The same clients, which count by `data` (their rows), `equal`, `similarity` (to the others, by
        their features), a file's numbers, or given ones."""
        if isinstance(policy, str) and policy == SIMILARITY:
            from .similarity import likeness_importance

            return replace(self, given_importance=likeness_importance(self))
        given = None if isinstance(policy, str) and policy == "data" else policy
        weights = None if given is None else importance_of(given, self.train.sizes)
        return replace(self, given_importance=weights)

    def with_groups(self, given: str | Path | Mapping[str, object] | Sequence[object] | None) -> Federation:
        """The same clients in groups, said by a mapping, a file, `column:NAME` or `name:SEPARATOR`; see
        :mod:`.groups`. None leaves the groups that there are."""
        return self if given is None else replace(self, groups=groups_of(given, self))

    def label_counts(self) -> Int64s:
        """How many training rows of every class each client has, as a (clients, classes) table."""
        if self.classes is None:
            raise DataError("a regression has no classes to count.")
        labels = self.train.y.reshape(len(self.train.y), -1)
        cells = self.train.owners.astype(np.int64)[:, None] * self.classes + labels
        return np.bincount(cells.ravel(), minlength=len(self) * self.classes).reshape(len(self), self.classes)

    def subset(self, clients: ArrayLike) -> Federation:
        """Only these clients, in the order given; they keep their names."""
        chosen = np.asarray(clients, dtype=np.int64)
        parts = {part: getattr(self, part).take(chosen) for part in PARTS}
        weights = None if self.given_importance is None else self.given_importance[chosen]
        if weights is not None and not weights.sum() > 0:
            raise DataError("none of these clients counts; give them importance first.")
        return replace(
            self,
            **parts,
            names=tuple(self.name(int(i)) for i in chosen),
            given_importance=None if weights is None else weights / weights.sum(),
            groups=None if self.groups is None else tuple(self.groups[int(i)] for i in chosen),
        )

    def without_rows(self, clients: ArrayLike) -> Federation:
        """The same clients under the same numbers, of whom these have no rows and do not count."""
        gone = np.zeros(len(self), bool)
        gone[np.asarray(clients, np.int64)] = True
        weights = np.where(gone, 0.0, self.importance)
        if not weights.sum() > 0:
            raise DataError("no client that counts would have any rows left.")
        given = None if self.given_importance is None else weights / weights.sum()
        parts: Keywords = {part: _without_rows(getattr(self, part), gone) for part in PARTS}
        return replace(self, **parts, given_importance=given)

    def with_split(self, test_fraction: float, validation_fraction: float = 0.0, seed: int = 0) -> Federation:
        """Cut each client's *training* rows again.

        The new test and validation rows replace the old ones; a part whose fraction is 0 stays as it is.
        """
        owners = self.train.owners
        parts = assign_parts(owners, len(self), test_fraction, validation_fraction, seed)
        train, validation, test = assemble(self.train.x, self.train.y, owners, parts, len(self))
        return replace(
            self,
            train=train,
            validation=validation if validation_fraction else self.validation,
            test=test if test_fraction else self.test,
        )

    def with_validation_in_training(self) -> Federation:
        """The same clients, each with its validation rows after its training rows; there are none left."""
        parts = (self.train, self.validation)
        owners = np.concatenate([part.owners for part in parts])
        order = np.argsort(owners, kind="stable")
        x, y = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("x", "y"))
        train = Split(x, y, self.train.offsets + self.validation.offsets)
        nobody = np.zeros(0, np.int64)
        empty = Split(x[nobody], y[nobody], np.zeros_like(train.offsets))
        return replace(self, train=train, validation=empty)

    @classmethod
    def from_owners(
        cls,
        x: Array,
        y: Array,
        owners: Array,
        *,
        rows: Int64s | None = None,
        clients: int | None = None,
        test_fraction: float = 0.0,
        validation_fraction: float = 0.0,
        ordered: bool = False,
        classes: Classes = "auto",
        names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        description: str = "",
        seed: int = 0,
    ) -> Federation:
        """From flat arrays and the client of every row, without a loop over clients.

        With `rows`, `owners[k]` owns row `rows[k]` of x and y, so rows may be left out or used twice. Here
        the arrays are trusted; :func:`unalike.data.validation.validate` checks them.
        """
        owners = np.asarray(owners)
        count = clients if clients is not None else (int(owners.max()) + 1 if owners.size else 0)
        parts = assign_parts(owners, count, test_fraction, validation_fraction, seed, ordered)
        targets = clean_targets(y, _class_count(classes))
        train, validation, test = assemble(x, targets, owners, parts, count, rows)
        return cls(
            train,
            validation,
            test,
            infer_classes(targets) if classes == "auto" else _class_count(classes),
            None if names is None else tuple(names),
            None if label_names is None else tuple(label_names),
            description,
        )

    @classmethod
    def from_clients(
        cls,
        clients: Mapping[str, object],
        *,
        test_fraction: float = 0.2,
        validation_fraction: float = 0.0,
        classes: Classes = None,
        seed: int = 0,
    ) -> Federation:
        """From a dictionary of clients: `(x, y)`, or `{"train": (x, y), "validation": ..., "test": ...}`.

        Features may be tables of pandas or Polars, which are matched by the names of their columns, or
        tensors of PyTorch; in place of a pair there may be one of its map-style data sets, whose transforms
        are applied once. PyTorch's images, (channels, height, width), get their channels last. A pair is cut
        by the fractions; a dictionary is kept as it is given. Integer (or word) targets are class labels and
        their number is found when `classes` is not given; float targets are those of a regression.

        >>> x = np.zeros((5, 3))
        >>> both = Federation.from_clients({"here": (x, np.arange(5) % 2), "there": (x, np.arange(5) % 3)})
        >>> both.classes, both.train.sizes, both.test.sizes
        (3, array([4, 4]), array([1, 1]))
        """
        from .clients import gather_clients

        check_fractions(test_fraction, validation_fraction)
        return gather_clients(clients, test_fraction, validation_fraction, _class_count(classes), seed)

    @classmethod
    def from_folder(
        cls,
        path: str | Path,
        *,
        label: str | None = None,
        test_fraction: float = 0.2,
        validation_fraction: float = 0.0,
        classes: Classes = None,
        seed: int = 0,
        **how: Any,
    ) -> Federation:
        """From a folder with one `.npz`, `.csv` or `.parquet` file per client, named after the client; or
        with one sub-folder of such files per group of clients.

        An `.npz` holds arrays `x` and `y` (and perhaps `columns`, the names of features); a table has a
        header, and its target is the column `label`, or the column called label, y or target, or the last
        one of the first file. Columns are matched by name. Categories, dates and missing values become
        numbers; `drop`, `keep_columns`, `prepare` and `missing` say how, as in :meth:`from_tables`. The
        description says what was read.
        """
        from .user_tables import federation_of_folder

        cut = {"test_fraction": test_fraction, "validation_fraction": validation_fraction, "seed": seed}
        return federation_of_folder(Path(path), label, how, classes=_class_count(classes), **cut)

    @classmethod
    def from_tables(
        cls,
        data: object,
        *,
        label: str | None = None,
        client_column: str | None = None,
        test_fraction: float = 0.2,
        validation_fraction: float = 0.0,
        classes: Classes = None,
        seed: int = 0,
        **how: Any,
    ) -> Federation:
        """From tables with named columns, as people have them: text, dates, missing values.

        data: one data frame, file (`.csv`, `.parquet`) or mapping of columns with a `client_column`; a
            mapping of client names to such tables; or anything with `to_pandas` or `load_partition`.
        label: the column to predict; the one called label, y or target, or the last, when not given.
        drop: columns to leave out.
        keep_columns: text columns to keep although their values single out rows, as names and notes do;
            without it they are left out (see :mod:`unalike.data.tables.identifying_columns`).
        prepare: `auto` codes words and standardizes numbers where there are text, dates, missing values or
            large numbers; `always` and `never` speak for themselves. What was decided is fitted on the facts
            of all clients' training rows and stays with the federation and its runs as `preparation`.
        missing: `fill` them in and mark them, `drop` rows that have some, or `refuse` them.

        >>> rows = {"site": ["a", "a", "b"], "age": [61, None, 50], "ill": ["no", "yes", "no"]}
        >>> made = Federation.from_tables(rows, label="ill", client_column="site", test_fraction=0)
        >>> made.names, made.columns, made.label_names
        (('a', 'b'), ('age', 'age is missing'), ('no', 'yes'))
        """
        from .user_tables import federation_of_tables

        cut = {"test_fraction": test_fraction, "validation_fraction": validation_fraction, "seed": seed}
        return federation_of_tables(data, label, client_column, how, classes=_class_count(classes), **cut)

    def save(self, folder: str | Path) -> Path:
        """Write one `.npy` file per array and a `federation.json`; see :meth:`load`."""
        from .files.store import save_federation

        return save_federation(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, mmap: bool = True, check: bool = True) -> Federation:
        """Read a saved federation; with `mmap` the arrays stay on disk until they are used."""
        from .files.store import load_federation

        return load_federation(Path(folder), mmap, check)


def assemble(
    x: Array,
    y: Array,
    owners: Array,
    parts: NDArray[np.int8],
    clients: int,
    rows: Int64s | None = None,
) -> tuple[Split, Split, Split]:
    """The three splits of rows with known owner and part; a client's rows keep their order."""
    splits = []
    for part in (TRAIN, VALIDATION, TEST):
        members = np.flatnonzero(parts == part)
        mine = owners[members]
        members = members[np.argsort(mine, kind="stable")]
        chosen = members if rows is None else rows[members]
        offsets = _offsets(np.bincount(mine, minlength=clients))
        splits.append(Split(gather_features(x, chosen), y[chosen], offsets))
    return splits[0], splits[1], splits[2]


def _without_rows(split: Split, gone: NDArray[np.bool_]) -> Split:
    """The split without the rows of some clients, who stay in their places."""
    rows = ~gone[split.owners]
    return Split(split.x[rows], split.y[rows], _offsets(np.where(gone, 0, split.sizes)))


def _offsets(sizes: Int64s) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _class_count(classes: Classes) -> int | None:
    return None if classes == "auto" else classes
