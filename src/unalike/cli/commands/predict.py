"""`unalike predict`: predictions of a trained model for new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ...core.csv_text import csv_text
from ...errors import DataError, RunError, UnalikeError
from ...typing import Document, NamedColumns
from ..screen import console, print_json, show_rows

if TYPE_CHECKING:
    from ...training.run import Run

SHOWN = 20


def predict_rows(
    folder: Path = typer.Argument(..., help="Folder of a run."),
    rows: Path = typer.Argument(..., help="Rows to predict: a .csv, .parquet or .npz file (array x)."),
    client: str | None = typer.Option(
        None, help="Whose rows these are, for methods with a model per client.", show_default="everyone's"
    ),
    client_column: str | None = typer.Option(None, help="Column that names the client of every row."),
    newcomer: Path | None = typer.Option(
        None, help="File with rows of a client that never took part, to personalize from; with the target."
    ),
    prepare: Path | None = typer.Option(
        None, help="File by which real nodes prepared their tables (`unalike join --prepare`)."
    ),
    best: bool = typer.Option(False, "--best", help="Use the best model that was evaluated, not the last."),
    probabilities: bool = typer.Option(False, "--probabilities", help="Write those of every class, too."),
    out: Path | None = typer.Option(
        None, help="Where to write the predictions, a .csv file.", show_default="the screen"
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the file."),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Predict new rows with a finished run.

    Categories, dates and missing values are prepared as in training, columns are matched by name, and others
    are passed over. Where the rows have the target, too, the share of right predictions is said.

    Example: unalike predict runs/hospitals new_patients.csv --client basel --out predictions.csv
    """
    if out is not None and out.exists() and not overwrite:
        raise RunError(f"{out} exists already; choose another --out, or replace it with --overwrite.")
    from ...experiments.open import open_run

    columns = _read(rows)
    run = open_run(folder, prepare=prepare, model="best" if best else "last")
    learned = None if newcomer is None else _newcomer_data(_read(newcomer))
    table = _predictions(run, columns, client, client_column, learned, probabilities)
    remarks = _remarks(run, columns, table)
    if out is not None:
        write_table(out, table)
    if json:
        print_json({"predictions": {name: list(values) for name, values in table.items()}, **remarks})
        return
    if out is None:
        count = len(table["prediction"])
        shown = [{name: _cell(values[i]) for name, values in table.items()} for i in range(min(count, SHOWN))]
        more = f" (first {SHOWN} of {count:,})" if count > SHOWN else ""
        show_rows(shown, f"predictions of {folder}{more}")
    for words in remarks["remarks"]:
        console.print(words, highlight=False, markup=False)
    if out is not None:
        console.print(f"{len(table['prediction']):,} predictions are in {out}", highlight=False, markup=False)


def _predictions(
    run: Run,
    columns: NamedColumns,
    client: str | None,
    client_column: str | None,
    newcomer: Any,
    probabilities: bool,
) -> Document:
    """A column of predictions, and of probabilities where these are asked for."""
    import numpy as np

    from ...data.tables.read_tables import split_columns

    if client_column is None:
        return _one(run.predictor(client, newcomer), columns, probabilities)
    if client is not None or newcomer is not None:
        raise DataError("a column says whose rows these are; leave out --client and --newcomer.")
    size = len(next(iter(columns.values())))
    numbered = {**columns, _ROW: np.arange(size)}
    parts = split_columns(numbered, client_column)
    found = {name: _one(run.predictor(name), mine, probabilities) for name, mine in parts.items()}
    order = np.argsort(np.concatenate([mine[_ROW] for mine in parts.values()]))
    names = next(iter(found.values()))
    return {name: np.concatenate([np.asarray(one[name]) for one in found.values()])[order] for name in names}


_ROW = "number of the row"


def _one(predictor: Any, columns: NamedColumns, probabilities: bool) -> Document:
    rows = columns["x"] if set(columns) <= {"x", "y"} and getattr(columns["x"], "ndim", 1) > 1 else columns
    answer = {"prediction": predictor.predict(rows)}
    if probabilities:
        found = predictor.predict_proba(rows)
        answer |= {f"probability of {name}": found[:, i] for i, name in enumerate(predictor.classes)}
    return answer


def _newcomer_data(columns: NamedColumns) -> Any:
    """What a newcomer learns from: a pair of arrays, or a table with its target."""
    return (columns["x"], columns["y"]) if set(columns) == {"x", "y"} else dict(columns)


def _read(path: Path) -> NamedColumns:
    """The columns of a table, or the arrays x and y of an .npz file."""
    from ...data.files.array_files import read_npz
    from ...data.files.text_columns import reading
    from ...data.tables.read_tables import read_columns

    if path.suffix.lower() != ".npz":
        return read_columns(path)
    with reading(path):
        found = dict(read_npz(path, ("x", "y")))
    if "x" not in found:
        raise DataError(f"{path} has no array x.")
    return found


def _remarks(run: Run, columns: NamedColumns, table: NamedColumns) -> Document:
    """Words that training did not have, and how many predictions are right where that is known."""
    from ...data.tables import Table

    about, said, answer = run.setting.federation, list[str](), dict[str, object]()
    if about.preparation is not None:
        said += about.preparation.remarks(Table.of(columns))
    target = columns.get(about.target or "y")
    with suppress(UnalikeError):  # rows whose target is not known yet need none
        if target is not None:
            name, value = _score(about, target, table["prediction"])
            said.append(f"{name} {value:.4g} on the {len(target):,} rows, which have the target")
            answer[name] = value
    return {"remarks": said, **answer}


def _score(about: Any, target: Any, predictions: Any) -> tuple[str, float]:
    import numpy as np

    from ...data.new_rows import read_labels

    truth = read_labels(about, target)
    if about.classes is None:
        return "rmse", float(np.sqrt(np.mean((truth - np.asarray(predictions, float)) ** 2)))
    names = about.label_names
    said = truth if names is None else np.array(names)[truth]
    return "accuracy", float(np.mean(said == np.asarray(predictions)))


def write_table(path: Path, table: Mapping[str, Sequence[Any]]) -> None:
    """One line per row, with a header."""
    from ...runs.atomic import write_bytes

    rows = zip(*(map(_cell, values) for values in table.values()), strict=True)
    write_bytes(path, csv_text(table, rows).encode())


def _cell(value: Any) -> str:
    return f"{value:.6g}" if hasattr(value, "dtype") and value.dtype.kind == "f" else str(value)
