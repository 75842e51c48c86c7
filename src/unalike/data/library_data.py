"""Converting data of other libraries (data frames, torch and Hugging Face data sets) to clients.

Nothing is imported to find out: an object's class says which library it is from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import DataError

_FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf", "dask")
_ADVICE = {
    "torch": "give each client a map-style data set or a pair of tensors, {name: dataset} (of a DataLoader, "
    "loader.dataset)",
    "datasets": "use Federation.from_tables(data, label=COLUMN, client_column=COLUMN)",
    "tensorflow": "take all rows as NumPy arrays and give {name: (x, y)}",
    "jax": "give a dictionary of pairs, {name: (x, y)}",
}
_TABLE = "use Federation.from_tables(table, label=COLUMN, client_column=COLUMN), or give a pair per client"
_PAIRS = "give a dictionary of pairs, {name: (x, y)}"


def library(given: object) -> str:
    """The package that defines an object's class, or one of its bases, if it is a known one; else ''."""
    roots = [kind.__module__.partition(".")[0] for kind in type(given).__mro__]
    return next((root for root in roots if root in _ADVICE or root in _FRAMES), "")


def is_foreign(given: object) -> bool:
    """Whether it is an object of another library that is neither an array nor a pair of arrays."""
    root = library(given)
    return root in _FRAMES or (root != "" and not hasattr(given, "__array__"))


def refuse(given: object, where: str) -> DataError:
    """The error for something that is not clients, with what to do."""
    kind, root = type(given).__name__, library(given)
    if root in _FRAMES:
        return DataError(f"{where} a {kind} is one table, not clients; {_TABLE}.")
    if root:
        return DataError(f"{where} a {kind} of {root} is not clients; {_ADVICE[root]}.")
    if isinstance(given, list | tuple):
        return DataError(
            f"{where} a {kind} has no names of clients; give a dictionary, such as "
            "{str(i): pair for i, pair in enumerate(pairs)}."
        )
    return DataError(f"{where} a {kind} is not clients; {_PAIRS}.")


def is_missing(value: object) -> bool:
    """Whether a value stands for one that is not known, in the ways of Python, NumPy and pandas."""
    unknown = isinstance(value, float) and value != value
    return value is None or unknown or type(value).__name__ in ("NAType", "NaTType")


def is_nested(value: object) -> bool:
    """Whether a value of a column is several values, or none that a table can hold.

    >>> is_nested([1, 2]), is_nested("1, 2")
    (True, False)
    """
    several = isinstance(value, list | tuple | set | Mapping | bytes | complex)
    return several or getattr(value, "ndim", 0) > 0


def is_index(name: str) -> bool:
    """Whether a column is the index of a pandas frame, under the name that Arrow gives it: no feature.

    >>> is_index("__index_level_0__"), is_index("index")
    (True, False)
    """
    return name.startswith("__index_level_")


def is_boolean(values: Sequence[object]) -> bool:
    """Whether all that is known of a column is true or false.

    >>> is_boolean([True, None]), is_boolean([1, None]), is_boolean([None])
    (True, False, False)
    """
    known = [value for value in values if not is_missing(value)]
    return bool(known) and all(isinstance(value, bool | np.bool_) for value in known)


def can(given: object, call: str) -> bool:
    """Whether an object can be asked to do something; a column of that name does not count.

    >>> can("word", "upper"), can("word", "to_pandas")
    (True, False)
    """
    return callable(getattr(given, call, None))


def check_mapping(clients: object) -> None:
    """Clients come by name."""
    if not isinstance(clients, Mapping):
        raise refuse(clients, "from_clients:")


def column_names(x: object) -> tuple[str, ...] | None:
    """The names of a table's columns, where features are a table of another library."""
    if library(x) not in _FRAMES:
        return None
    names = getattr(x, "column_names", None) or getattr(x, "columns", None)
    return None if names is None else tuple(str(name) for name in names)
