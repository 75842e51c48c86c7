"""How does a name become a federation?  (`unalike.load`.)

:func:`load` finds the data, deals them to clients, cuts each client into train, validation and test rows,
and skews the features if asked to. A data set's original test rows are pooled with the others before they
are dealt: each client is then tested on rows of its own kind, which is what a personalised model is judged
by. So numbers are not those of the original test set.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.random import generator
from ..core.spec import Spec
from ..errors import ConfigError, DataError
from ..typing import Array, Int64s
from .federation import Federation
from .files.store import MANIFEST
from .foreign import refuse
from .partitions import partition_registry
from .skews import skew_registry
from .sources import Source, source_registry
from .sources.files import data_folder
from .sources.source import some_rows

DEFAULT_CLIENTS = 100
_BINS = 10


def load(
    name: str | os.PathLike[str],
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
) -> Federation:
    """The federation of a data set, a partition and a number of clients.

    name: a data set (`digits`, `synthetic:1,1`; see `unalike list`), `folder:PATH`, or the path of a saved
        federation or of a folder with one file per client.
    partition: how rows are dealt (`dirichlet:0.3`); None means the data set's own clients where it has
        them, and `iid` otherwise. The targets of a regression count as ten classes, by decile.
    clients: how many; of a data set's own clients, at most that many, chosen at random. None means all of
        them, or 100.
    sizes: rows of every client, or a law of sizes (`lognormal:1`), for partitions that take sizes.
    samples: use only that many rows.
    path: a folder with the data sets' files, in place of the environment variable UNALIKE_DATA.
    label: the column to predict, for a folder of tables.

    >>> federation = load("digits", partition="dirichlet:0.3", clients=10)
    >>> len(federation), federation.classes, federation.input_shape
    (10, 10, (8, 8, 1))
    """
    name = _as_name(name)
    folder = _folder(name, path)
    if folder is not None:
        made: Source | Federation = _open(folder, label, test_fraction, validation_fraction, seed)
    elif label is not None:
        raise ConfigError(f"{name!r} is not a folder of tables with columns to choose from; leave out label.")
    else:
        context = {"clients": clients, "seed": seed, "samples": samples}
        with data_folder(path):
            made = source_registry.make(
                name, **{key: value for key, value in context.items() if value is not None}
            )
    if isinstance(made, Federation):
        federation = _own_clients_only(made, name, partition, sizes, clients, samples, seed)
    else:
        _check_enough_rows(made, name, clients)
        federation = deal(
            made,
            partition,
            clients,
            seed,
            test_fraction=test_fraction,
            validation_fraction=validation_fraction,
            sizes=sizes,
            samples=samples,
        )
    if skew is None:
        return federation
    return skew_registry.make(skew, federation=federation, seed=seed)


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
) -> Federation:
    """The rows of a source dealt to clients by a partition."""
    x, y = source.pooled()
    rows = some_rows(len(y), samples, seed)
    spec = partition or ("iid" if source.owners is None else "natural")
    names: list[str] | None = None
    if spec == "natural":
        rows, names = _some_owners(source, rows, clients, seed)
    wanted = DEFAULT_CLIENTS if clients is None else clients
    dealt = _partition(spec, source, y, rows, wanted, sizes, seed)
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
        description=f"{source.description}; {spec}" if source.description else spec,
        seed=seed,
    )


def _check_enough_rows(source: Source, name: str, clients: int | None) -> None:
    """Data that are made in any number are asked for more, not shared by fewer clients."""
    made = (
        source.owners is None and "samples" in inspect.signature(source_registry[Spec.parse(name)]).parameters
    )
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
) -> list[Int64s]:
    """Places in `rows` for every client."""
    context: dict[str, Any] = {"labels": _labels(y[rows], source.classes), "clients": clients}
    context["rng"] = generator(seed, "partition")
    context |= {key: None if value is None else value[rows] for key, value in _row_facts(source).items()}
    if sizes is not None:
        if "sizes" not in inspect.signature(partition_registry[Spec.parse(spec)]).parameters:
            raise ConfigError(
                f"partition {spec!r} makes its own sizes; leave out sizes, or use 'dirichlet' or 'iid'."
            )
        context["sizes"] = sizes
    return partition_registry.make(spec, **context)


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


def _as_name(given: Any) -> str:
    if isinstance(given, str | os.PathLike):
        return str(os.fspath(given))
    raise refuse(given, "load takes the name of a data set or the path of a folder:")


def _folder(name: str, path: str | Path | None) -> Path | None:
    """The folder that a name stands for, or None when it is the name of a data set."""
    if name == "folder" and path is not None:
        return Path(path)
    if name.startswith("folder:"):
        return Path(name.removeprefix("folder:"))
    is_path = os.sep in name or name == "folder" or (name not in source_registry and Path(name).is_dir())
    return Path(name) if is_path else None


def _open(
    folder: Path, label: str | None, test_fraction: float, validation_fraction: float, seed: int
) -> Federation:
    if not folder.is_dir():
        raise DataError(
            f"there is no folder {str(folder)!r}; give a saved federation or a folder of client files."
        )
    if (folder / MANIFEST).exists():
        return _with_target(Federation.load(folder), folder, label)
    return Federation.from_folder(
        folder, label=label, seed=seed, test_fraction=test_fraction, validation_fraction=validation_fraction
    )


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
    sizes: Sequence[int] | str | None,
    clients: int | None,
    samples: int | None,
    seed: int,
) -> Federation:
    """Data whose clients are fixed: at most, fewer of them."""
    wanted = {
        "partition": partition not in (None, "natural"),
        "sizes": sizes is not None,
        "samples": samples is not None,
    }
    refused = next((option for option, given in wanted.items() if given), None)
    if refused:
        raise ConfigError(f"{name!r} has clients of its own that cannot be dealt again; leave out {refused}.")
    chosen = _some_clients(len(federation), clients, seed)
    return federation if len(chosen) == len(federation) else federation.subset(chosen)
