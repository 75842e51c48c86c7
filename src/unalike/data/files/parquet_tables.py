"""Reading Parquet files, checked before they are opened.

It tells its rows and types before it is read. Runs of equal values take no room in such a file, so that the
rows it declares are counted, not its bytes; words stay coded, so that a long one that comes often is kept
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...core.extras import import_extra
from ...core.plain_files import check_plain_file, check_unfolded
from ...errors import DataError
from ...typing import Array, Float64s, Int64s
from ..dates import days_of_moments
from ..library_data import is_index
from .agreement import StringLabels
from .text_columns import numbers_of, targets_of, words_of

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, Schema
    from pyarrow.parquet import ParquetFile

_WORDS = ("string", "large_string")


def parquet_header(path: Path) -> list[str]:
    """The names of all columns but the index that pandas may have written beside them."""
    return _names(_open(path))


def read_parquet(
    path: Path, header: Sequence[str], target: int
) -> tuple[dict[str, Array], Array | StringLabels]:
    """Features by name, numbers or words, and target, which is the column in place `target` of the header."""
    file = _open(path)
    if not file.metadata.num_rows:
        raise DataError(f"client {path.stem!r}: {path.name} needs at least one row.")
    _check_types(path, file.schema_arrow)
    columns = _read(file)
    x = {header[i]: _feature(column) for i, column in enumerate(columns) if i != target}
    return x, _targets(path, columns[target])


def parquet_columns(path: Path, header: Sequence[str]) -> list[Array | list[str]]:
    """All columns: numbers as they are, a gap being NaN, and words as text, a gap being empty."""
    file = _open(path)
    _check_types(path, file.schema_arrow)
    return [_values(column) for column in _read(file)]


def _names(file: ParquetFile) -> list[str]:
    return [name for name in file.schema_arrow.names if not is_index(name)]


def _read(file: ParquetFile) -> list[ChunkedArray]:
    return list(file.read(columns=_names(file)).columns)


def _values(column: ChunkedArray) -> Array | list[str]:
    coded = _encode_column(column)
    if coded is None:
        values = np.asarray(column.to_numpy())
        return values if values.dtype.kind in "iub" else _numbers(column)
    words, codes = coded
    return [words[code] for code in codes]


def _feature(column: ChunkedArray) -> Array:
    """Numbers where all of it is numbers, words otherwise."""
    coded = _encode_column(column)
    if coded is None:
        return _numbers(column)
    words, codes = coded
    numbers = numbers_of(words)
    return (words_of(words) if numbers is None else numbers)[codes]


def _open(path: Path) -> ParquetFile:
    held = check_plain_file(path, None)
    import_extra("pyarrow", "parquet", "reading .parquet files", DataError)
    from pyarrow import parquet

    words = [field.name for field in parquet.read_schema(path) if str(field.type) in _WORDS]
    file = parquet.ParquetFile(path, read_dictionary=words)
    facts = file.metadata
    packed = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
    check_unfolded(max(facts.num_rows * facts.num_columns * 8, packed), held)
    return file


def _check_types(path: Path, schema: Schema) -> None:
    from pyarrow import types

    allowed = (
        *(types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string),
        *(types.is_timestamp, types.is_date, types.is_decimal),
    )
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if not is_index(field.name) and not any(allows(kind) for allows in allowed):
            raise DataError(
                f"client {path.stem!r}: column {field.name!r} of {path.name} has type {kind}; give numbers, "
                "words or dates."
            )


def _numbers(column: ChunkedArray) -> Float64s:
    """Numbers as they are, dates as days since 1970."""
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "M" or _is_date(column.type):
        return days_of_moments(values.astype("datetime64[us]"))
    return np.asarray(values, np.float64)


def _is_date(kind: DataType) -> bool:
    from pyarrow import types

    return bool(types.is_date(kind))


def _targets(path: Path, column: ChunkedArray) -> Array | StringLabels:
    coded = _encode_column(column)
    if coded is not None:
        words, codes = coded
        return targets_of(path.stem, [words[code] for code in codes])
    values = np.asarray(column.to_numpy())
    return np.asarray(values, np.float64) if values.dtype == object else values


def _encode_column(column: ChunkedArray) -> tuple[list[str], Int64s] | None:
    """The distinct words of a column and the place of every row's, a missing one being empty."""
    if not hasattr(column.type, "value_type"):
        return None
    words, codes = [""], [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        places = np.array([-1 if place is None else place for place in chunk.indices.to_pylist()], np.int64)
        codes.append(np.where(places < 0, 0, places + len(words)))
        words += ["" if word is None else str(word) for word in chunk.dictionary.to_pylist()]
    return words, np.concatenate(codes)
