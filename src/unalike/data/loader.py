"""`unalike.load`: from a name to a federation.

:func:`load` finds the data, deals them to clients, cuts each client into train, validation and test rows,
and skews the features or puts in watermarks if asked to. A data set's original test rows are pooled with the
others before they are dealt: each client is then tested on rows of its own kind, which is what a personalized
model is judged by. So numbers are not those of the original test set.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.catalog import SQL, TABLES
from ..core.random import generator
from ..core.spec import Spec
from ..errors import ConfigError, DataError
from ..typing import Array, Fields, Int64s, Keywords
from .federation import Federation
from .files.store import MANIFEST
from .historical_split import HistoricalSplit, historical_split
from .library_data import refuse
from .partitions import partition_registry
from .skews import skew_registry
from .sources import Source, source_registry
from .sources.files import data_folder
from .sources.source import some_rows
from .user_tables import names_clients, table_of
from .watermarks import put_watermarks

DEFAULT_CLIENTS = 100
_BINS = 10
_PURPOSES = ("partition", "fresh partition")
"""Random numbers of historical and of fresh clients' partitions."""
_ANSWERED = {"historical": None, "samples": None}
"""What a data set that is made for a historical share has seen to itself."""


def load(
    name: str | os.PathLike[str] | object,
    *,
    partition: str | None = None,
    clients: int | None = None,
    seed: int = 0,
    test_fraction: float = 0.2,
    validation_fraction: float = 0.0,
    sizes: Sequence[int] | str | None = None,
    skew: str | None = None,
    samples: int | None = None,
    path: str | Path | None = None,
    label: str | None = None,
    client_column: str | None = None,
    drop: str | Sequence[str] | None = None,
    keep_columns: str | Sequence[str] | None = None,
    prepare: str | None = None,
    missing: str | None = None,
    watermark: str | None = None,
    watermarked: str | None = None,
    without: Sequence[str] | None = None,
    historical_share: float | None = None,
    historical_clients: float | None = None,
) -> Federation:
    """The federation of a data set, a partition and a number of clients.

    name: a data set (`digits`, `synthetic:1,1`; see `unalike list`), `folder:PATH`, the path of a saved
        federation or of a folder with one file per client, or one table: a `.csv` or `.parquet` file, a data
        frame, or `sql:SELECT ...`.
    partition: how rows are dealt (`dirichlet:0.3`); None means the data set's own clients where it has
        them, and `iid` otherwise. The targets of a regression count as ten classes, by decile.
    clients: how many; of a data set's own clients, at most that many, chosen at random. None means all of
        them, or 100.
    sizes: rows of every client, or a law of sizes (`lognormal:1`), for partitions that take sizes.
    samples: use only that many rows.
    path: a folder with the data sets' files, in place of the environment variable UNALIKE_DATA.
    label: the column to predict, for tables.
    client_column: the column that names the client of every row, for one table; without one, its rows are
        dealt by the partition.
    drop, keep_columns, prepare, missing: how columns become features; see :meth:`Federation.from_tables`.
    watermark: a trigger in clients' rows by which unlearning is verified, such as `pixels:10` (see
        :mod:`.watermarks`).
    watermarked: whose rows have it: a number of clients, a share of them, or names; None means everybody's.
    without: clients, by name, whose tables do not count when it is fitted how columns become features.
    historical_share: the share of rows that historical clients have, for a data stream (N_hist / N); both
        parts are partitioned by themselves. As the partition has it when not given.
    historical_clients: how many clients, the first ones, are historical: a share below 1, or a number; half
        when not given. Say the same in the stream, such as `MemoryStream("spread:100,0.5")`.

    >>> federation = load("digits", partition="dirichlet:0.3", clients=10)
    >>> len(federation), federation.classes, federation.input_shape
    (10, 10, (8, 8, 1))
    """
    cut: Keywords = {"test_fraction": test_fraction, "validation_fraction": validation_fraction}
    historical = historical_split(historical_share, historical_clients)
    wanted: Keywords = {"sizes": sizes, "samples": samples, "historical": historical}
    columns = {
        "label": label,
        "client_column": client_column,
        "drop": drop,
        "prepare": prepare,
        "missing": missing,
    }
    columns |= {"keep_columns": keep_columns, "without": without or None}
    table = table_of(name)
    if table is not None:
        federation = _load_table(table, partition, clients, seed, columns, cut, wanted)
    elif (folder := _folder(_as_name(name), path)) is not None:
        opened = _open(folder, columns, {**cut, "seed": seed})
        federation = _own_clients_only(opened, str(name), partition, clients, seed, **wanted)
    else:
        named = ("label", "client_column", "drop", "keep_columns")
        _check_no_columns(str(name), {word: columns[word] for word in named})
        context: Keywords = {"clients": clients, "seed": seed, "samples": samples}
        if _takes(str(name), "historical_share"):
            context |= {"historical_share": historical_share, "historical_clients": historical_clients}
            context["validation_fraction"], wanted = validation_fraction, {**wanted, **_ANSWERED}
        made = _make(str(name), path, context)
        if isinstance(made, Federation):
            federation = _own_clients_only(made, str(name), partition, clients, seed, **wanted)
        else:
            _check_enough_rows(made, str(name), clients)
            federation = deal(made, partition, clients, seed, **cut, **wanted)
    if skew is not None:
        federation = skew_registry.make(skew, federation=federation, seed=seed)
    return put_watermarks(federation, watermark, watermarked, seed)


def deal(
    source: Source,
    partition: str | None = None,
    clients: int | None = None,
    seed: int = 0,
    *,
    test_fraction: float = 0.2,
    validation_fraction: float = 0.0,
    sizes: Sequence[int] | str | None = None,
    samples: int | None = None,
    historical: HistoricalSplit | None = None,
) -> Federation:
    """The rows of a source dealt to clients by a partition.

    Args:
        source: the rows.
        partition: how they are partitioned; by the source's own clients, or `iid`, when not given.
        clients: how many clients; 100 when not given.
        seed: the same seed makes the same clients.
        test_fraction: the part of each client's rows that tests.
        validation_fraction: the part that validates.
        sizes: rows of every client, or a law of sizes.
        samples: use only that many rows.
        historical: which share of rows historical clients have, where both parts are to be partitioned by
            themselves.
    """
    x, y = source.pooled()
    rows = some_rows(len(y), samples, seed)
    part = f"{len(rows):,} of {len(y):,} rows" if len(rows) < len(y) else ""
    spec = partition or ("iid" if source.owners is None else "natural")
    names: list[str] | None = None
    if spec == "natural":
        rows, names = _some_owners(source, rows, clients, seed)
    wanted = DEFAULT_CLIENTS if clients is None else clients
    if historical is None:
        dealt = _partition(spec, source, y, rows, wanted, sizes, seed)
    else:
        dealt = _partition_in_two(historical, spec, source, y, rows, wanted, sizes, seed)
    if source.ordered:
        dealt = [np.sort(mine) for mine in dealt]
    return Federation.from_owners(
        x,
        y,
        np.repeat(np.arange(len(dealt)), [len(mine) for mine in dealt]),
        rows=rows[np.concatenate(dealt)],
        clients=len(dealt),
        test_fraction=test_fraction,
        validation_fraction=validation_fraction,
        ordered=source.ordered,
        classes=source.classes,
        names=names,
        label_names=source.label_names,
        description="; ".join(filter(None, (", ".join(filter(None, (source.description, part))), spec))),
        seed=seed,
    )


def _takes(name: str, setting: str) -> bool:
    """Whether a data set is made for a setting."""
    return setting in inspect.signature(source_registry[Spec.parse(name)]).parameters


def _check_enough_rows(source: Source, name: str, clients: int | None) -> None:
    """Data that are made in any number are asked for more, not shared by fewer clients."""
    made = source.owners is None and _takes(name, "samples")
    if made and clients is not None and clients > len(source.y):
        raise ConfigError(
            f"{clients} clients cannot share {len(source.y)} rows; ask for more rows, such as "
            f"--samples {10 * clients}."
        )


def _partition(
    spec: str,
    source: Source,
    y: Array,
    rows: Array,
    clients: int,
    sizes: Sequence[int] | str | None,
    seed: int,
    purpose: str = "partition",
) -> list[Int64s]:
    """Places in `rows` for every client."""
    context: Keywords = {"labels": _labels(y[rows], source.classes), "clients": clients}
    context["rng"] = generator(seed, purpose)
    context |= {key: None if value is None else value[rows] for key, value in _row_facts(source).items()}
    if sizes is not None:
        if "sizes" not in inspect.signature(partition_registry[Spec.parse(spec)]).parameters:
            raise ConfigError(
                f"partition {spec!r} makes its own sizes; leave out sizes, or use 'dirichlet' or 'iid'."
            )
        context["sizes"] = sizes
    return partition_registry.make(spec, **context)


def _partition_in_two(
    historical: HistoricalSplit,
    spec: str,
    source: Source,
    y: Array,
    rows: Array,
    clients: int,
    sizes: Sequence[int] | str | None,
    seed: int,
) -> list[Int64s]:
    """The same where historical clients, who come first, have a share of the rows."""
    if spec == "natural":
        raise ConfigError(
            "these clients have rows of their own, so that their historical share follows from who is "
            "historical, such as --stream spread:100,0.2; leave out historical_share, or give a partition."
        )
    if not (sizes is None or isinstance(sizes, str)):
        raise ConfigError("sizes of all clients say what historical ones have; leave out historical_share.")
    kept = historical.count(clients)
    dealt: list[Int64s] = []
    parts = historical.split(len(rows), seed)
    for places, count, purpose in zip(parts, (kept, clients - kept), _PURPOSES, strict=True):
        found = _partition(spec, source, y, rows[places], count, sizes, seed, purpose)
        if len(found) != count:
            raise ConfigError(f"partition {spec!r} leaves out clients; leave out historical_share.")
        dealt += [places[mine] for mine in found]
    return dealt


def _row_facts(source: Source) -> dict[str, Array | None]:
    return {"owners": source.owners, "coarse": source.coarse}


def _labels(y: Array, classes: int | None) -> Array:
    """Labels to deal by: the decile of a regression's target, where there are no classes."""
    if classes is not None:
        return y
    target = y if y.ndim == 1 else y[:, 0]
    return np.searchsorted(np.quantile(target, np.arange(1, _BINS) / _BINS), target)


def _some_owners(
    source: Source, rows: Int64s, clients: int | None, seed: int
) -> tuple[Int64s, list[str] | None]:
    """The rows of at most `clients` of the source's own clients, and what these are called."""
    if source.owners is None:
        return rows, None
    owners = source.owners[rows]
    present = np.unique(owners)
    chosen = present[_some_clients(len(present), clients, seed)]
    names = None if source.owner_names is None else [source.owner_names[i] for i in chosen]
    return rows[np.isin(owners, chosen)], names


def _some_clients(total: int, clients: int | None, seed: int) -> Int64s:
    if clients is None or clients >= total:
        return np.arange(total)
    if clients < 1:
        raise ConfigError(f"{clients} clients is not possible; ask for at least 1.")
    return np.sort(generator(seed, "clients").choice(total, clients, replace=False))


def _as_name(given: object) -> str:
    if isinstance(given, str | os.PathLike):
        return str(os.fspath(given))
    raise refuse(given, "load takes the name of a data set or the path of a folder:")


def is_own_data(name: str) -> bool:
    """Whether a name stands for rows that somebody brings, and not for a data set that everybody knows.

    >>> is_own_data("digits"), is_own_data("rows.csv"), is_own_data("folder:sites")
    (False, True, True)
    """
    return _is_table(name) or _folder(name, None) is not None


def fits_columns(name: str, client_column: str | None) -> bool:
    """Whether columns are prepared here, from the tables of clients, so that some of them can be left out of
    it; rows that are dealt from one table, or that were saved, are prepared before they have clients.

    >>> fits_columns("rows.csv", "site"), fits_columns("rows.csv", None), fits_columns("digits", None)
    (True, False, False)
    """
    if _is_table(name):
        return client_column is not None
    folder = _folder(name, None)
    return folder is not None and not (folder / MANIFEST).exists()


def _is_table(name: str) -> bool:
    return name.startswith(SQL) or Path(name).suffix.lower() in TABLES


def _folder(name: str, path: str | Path | None) -> Path | None:
    """The folder that a name stands for, or None when it is the name of a data set."""
    if name == "folder" and path is not None:
        return Path(path)
    if name.startswith("folder:"):
        return Path(name.removeprefix("folder:"))
    is_path = os.sep in name or name == "folder" or (name not in source_registry and Path(name).is_dir())
    return Path(name) if is_path else None


def _open(folder: Path, about_tables: Keywords, cut: Keywords) -> Federation:
    if not folder.is_dir():
        raise DataError(
            f"there is no folder {str(folder)!r}; give a saved federation or a folder of client files."
        )
    if about_tables.pop("client_column") is not None:
        raise ConfigError(
            f"{str(folder)!r} has one file per client; leave out client_column, or give one file of all rows."
        )
    if (folder / MANIFEST).exists():
        return _with_target(Federation.load(folder), folder, about_tables["label"])
    given = {name: value for name, value in about_tables.items() if value is not None}
    return Federation.from_folder(folder, **given, **cut)


def _load_table(
    table: object,
    partition: str | None,
    clients: int | None,
    seed: int,
    columns: Keywords,
    cut: Keywords,
    wanted: Keywords,
) -> Federation:
    """The clients that one table names, or its rows dealt by a partition."""
    given = {name: value for name, value in columns.items() if value is not None}
    if names_clients(table, columns["client_column"]):
        made = Federation.from_tables(table, **given, **cut, seed=seed)
        return _own_clients_only(made, "the table", partition, clients, seed, **wanted)
    if partition is None:
        raise ConfigError(
            "a table has the rows of all clients; say which column names them (client_column), or how to "
            "deal them (partition)."
        )
    whole = Federation.from_tables({"all": table}, **given, test_fraction=0.0)
    source = Source(whole.train.x, whole.train.y, whole.classes, label_names=whole.label_names)
    dealt = deal(source, partition, clients, seed, **cut, **wanted)
    said = "; ".join(part for part in (whole.description, dealt.description) if part)
    about = ("columns", "target", "preparation", "dropped_columns")
    facts: Keywords = {name: getattr(whole, name) for name in about}
    return replace(dealt, **facts, description=said)


def _check_no_columns(name: str, columns: Keywords) -> None:
    source_registry[Spec.parse(name)]  # says so if nothing has that name
    given = next((word for word, value in columns.items() if value is not None), None)
    if given is not None:
        raise ConfigError(f"{name!r} is not made of tables with columns to choose from; leave out {given}.")


def _make(name: str, path: str | Path | None, context: Fields) -> Source | Federation:
    given = {key: value for key, value in context.items() if value is not None}
    with data_folder(path):
        return source_registry.make(name, **given)


def _with_target(federation: Federation, folder: Path, label: str | None) -> Federation:
    if label is not None and label != federation.target:
        said = "" if federation.target is None else f" to predict {federation.target!r}"
        raise ConfigError(
            f"{str(folder)!r} is a federation that was saved{said}; leave out label, or give the folder of "
            "tables."
        )
    return federation


def _own_clients_only(
    federation: Federation,
    name: str,
    partition: str | None,
    clients: int | None,
    seed: int,
    sizes: Sequence[int] | str | None,
    samples: int | None,
    historical: HistoricalSplit | None = None,
) -> Federation:
    """Data whose clients are fixed: at most, fewer of them."""
    wanted = {
        "partition": partition not in (None, "natural"),
        "sizes": sizes is not None,
        "samples": samples is not None,
        "historical_share": historical is not None,
    }
    refused = next((option for option, given in wanted.items() if given), None)
    if refused:
        raise ConfigError(f"{name!r} has clients of its own that cannot be dealt again; leave out {refused}.")
    chosen = _some_clients(len(federation), clients, seed)
    return federation if len(chosen) == len(federation) else federation.subset(chosen)
