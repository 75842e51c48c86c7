"""How is a Parquet file read that may claim anything?

It tells its rows and types before it is read. Runs of equal values take no room in such a file, so that the
rows it declares are counted, not its bytes; words stay coded, so that a long one that comes often is kept
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.extras import import_extra
from ...core.plain_files import check_plain_file, check_unfolded
from ...errors import DataError
from ...typing import Array, Float64s, Int64s
from .agreement import Words
from .table_columns import numbers_of, targets_of

_WORDS = ("string", "large_string")


def parquet_header(path: Path) -> list[str]:
    """The names of all columns."""
    return list(_open(path).schema_arrow.names)


def read_parquet(path: Path, header: Sequence[str], target: int) -> tuple[Array, Array | Words]:
    """Features and target, which is the column in place `target` of the header."""
    file = _open(path)
    if not file.metadata.num_rows:
        raise DataError(f"client {path.stem!r}: {path.name} needs at least one row.")
    _check_types(path, file.schema_arrow)
    columns = file.read().columns
    x = [_numbers(path, header[i], column) for i, column in enumerate(columns) if i != target]
    return np.stack(x, axis=1), _targets(path, columns[target])


def parquet_columns(path: Path, header: Sequence[str]) -> list[Array | list[str]]:
    """All columns: numbers as they are, a gap being NaN, and words as text, a gap being empty."""
    file = _open(path)
    _check_types(path, file.schema_arrow)
    return [_values(path, name, column) for name, column in zip(header, file.read().columns, strict=True)]


def _values(path: Path, name: str, column: Any) -> Array | list[str]:
    coded = _coded(column)
    if coded is None:
        return _numbers(path, name, column)
    words, codes = coded
    return [words[code] for code in codes]


def _open(path: Path) -> Any:
    held = check_plain_file(path, None)
    import_extra("pyarrow", "parquet", "reading .parquet files", DataError)
    from pyarrow import parquet

    words = [field.name for field in parquet.read_schema(path) if str(field.type) in _WORDS]
    file = parquet.ParquetFile(path, read_dictionary=words)
    facts = file.metadata
    packed = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
    check_unfolded(max(facts.num_rows * facts.num_columns * 8, packed), held)
    return file


def _check_types(path: Path, schema: Any) -> None:
    from pyarrow import types

    allowed = (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string)
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if not any(allows(kind) for allows in allowed):
            raise DataError(
                f"client {path.stem!r}: column {field.name!r} of {path.name} has type {kind}; give numbers, "
                "or words for the target."
            )


def _numbers(path: Path, name: str, column: Any) -> Float64s:
    coded = _coded(column)
    if coded is None:
        return np.asarray(column.to_numpy(), np.float64)
    words, codes = coded
    return numbers_of(path, name, words)[codes]


def _targets(path: Path, column: Any) -> Array | Words:
    coded = _coded(column)
    if coded is not None:
        words, codes = coded
        return targets_of(path.stem, [words[code] for code in codes])
    values = np.asarray(column.to_numpy())
    return np.asarray(values, np.float64) if values.dtype == object else values


def _coded(column: Any) -> tuple[list[str], Int64s] | None:
    """The distinct words of a column and the place of every row's, a missing one being empty."""
    if not hasattr(column.type, "value_type"):
        return None
    words, codes = [""], [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        places = np.array([-1 if place is None else place for place in chunk.indices.to_pylist()], np.int64)
        codes.append(np.where(places < 0, 0, places + len(words)))
        words += ["" if word is None else str(word) for word in chunk.dictionary.to_pylist()]
    return words, np.concatenate(codes)
