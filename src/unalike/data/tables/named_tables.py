"""Named tables: public data sets as tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...core.registry import Registry
from ...errors import DataError
from ..sources.files import data_folder, reading, require_local
from ..sources.heart_disease import HOSPITALS
from .read_tables import read_table, split_table, tables_of
from .table import Table, Tables, column_of

table_registry: Registry[Tables] = Registry("table", "tables")
_CMAPSS = "train_FD001.txt of NASA's turbofan degradation data (C-MAPSS)"
_HEART = "the processed.*.data files of archive.ics.uci.edu, data set 45"
_HEART_COLUMNS = (
    *("age", "sex", "chest_pain", "blood_pressure", "cholesterol", "blood_sugar", "cardiogram"),
    *("heart_rate", "angina", "depression", "slope", "vessels", "thallium", "diagnosis"),
)
_HEART_WORDS = {
    "sex": {0: "female", 1: "male"},
    "chest_pain": {1: "typical", 2: "atypical", 3: "other", 4: "none"},
    "cardiogram": {0: "normal", 1: "wave", 2: "hypertrophy"},
}


def load_tables(name: str | Path, client_column: str | None = None, path: str | Path | None = None) -> Tables:
    """Tables of a public data set (`cmapss`, `student_grades`, ...), or of a file or folder.

    path: a folder with the data sets' files, in place of the environment variable UNALIKE_DATA.
    """
    if isinstance(name, str) and name in table_registry and not Path(name).exists():
        if client_column is not None:
            raise DataError(f"{name} has clients of its own; leave out the client column.")
        with data_folder(path):
            return table_registry.make(name)
    if isinstance(name, str) and not Path(name).exists():
        raise DataError(f"there is no file or folder {name!r}, and tables with names are: {_names()}.")
    return tables_of(Path(name), client_column)


@table_registry.add("cmapss")
def cmapss() -> Tables:
    """100 turbofan engines run to failure (C-MAPSS FD001): cycle, settings, 21 sensors, remaining life.

    A. Saxena, K. Goebel, D. Simon and N. Eklund, "Damage Propagation Modeling for Aircraft Engine Run-to-
    Failure Simulation", 2008.
    """
    path = require_local("cmapss/train_FD001.txt", _CMAPSS)
    with reading(path, _CMAPSS):
        rows = np.loadtxt(path, dtype=np.float64, ndmin=2)
        settings = {f"setting{j}": rows[:, 1 + j] for j in (1, 2, 3)}
        sensors = {f"sensor{j}": rows[:, 4 + j] for j in range(1, 22)}
    life = {engine: rows[rows[:, 0] == engine, 1].max() for engine in np.unique(rows[:, 0])}
    left = np.array([life[engine] for engine in rows[:, 0]]) - rows[:, 1]
    engines = np.array([f"engine{int(engine):03d}" for engine in rows[:, 0]])
    return split_table(
        Table({"engine": engines, "cycle": rows[:, 1], **settings, **sensors, "rul": left}), "engine"
    )


@table_registry.add("student_grades")
def student_grades() -> Tables:
    """395 pupils of two Portuguese schools and their grades in mathematics.

    P. Cortez and A. Silva, "Using Data Mining to Predict Secondary School Student Performance", 2008.
    """
    where = "student-mat.csv of archive.ics.uci.edu, data set 320"
    return split_table(read_table(require_local("student-mat.csv", where)), "school")


@table_registry.add("heart_disease")
def heart_disease() -> Tables:
    """920 patients of four hospitals, numbers and words with missing values; `ill` is 1 where a diagnosis was
    made. A cholesterol of 0 is missing: Zurich and Basel have measured none.

    A. Janosi, W. Steinbrunn, M. Pfisterer and R. Detrano, "Heart Disease", 1989.
    """
    return {
        place: _hospital(require_local(f"heart_disease/processed.{name}.data", _HEART))
        for name, place in HOSPITALS.items()
    }


@table_registry.add("sarcos")
def sarcos() -> Tables:
    """4,449 poses of a robot arm (the test file): 21 inputs and 7 torques, dealt to 5 clients in turn.

    S. Vijayakumar, A. D'Souza and S. Schaal, "Incremental Online Learning in High Dimensions", 2005.
    """
    import scipy.io

    where = "sarcos_inv_test.mat of the Gaussian process book's data"
    path = require_local("sarcos_inv_test.mat", where)
    with reading(path, where):
        rows = np.asarray(scipy.io.loadmat(path)["sarcos_inv_test"], np.float64)
    kinds = [f"{kind}{j}" for kind in ("position", "velocity", "acceleration", "torque") for j in range(1, 8)]
    owners = np.array([f"arm{i % 5}" for i in range(len(rows))])
    return split_table(Table({"arm": owners, **dict(zip(kinds, rows.T, strict=True))}), "arm")


def _hospital(path: Path) -> Table:
    with reading(path, _HEART):
        lines = [line.split(",") for line in path.read_text().split() if not line.startswith("X")]
        columns = dict(zip(_HEART_COLUMNS, zip(*lines, strict=True), strict=True))
        found = {name: column_of(values) for name, values in columns.items()}
    for name, words in _HEART_WORDS.items():
        found[name] = np.array([words.get(int(v), "") if v == v else "" for v in found[name]], dtype=str)
    diagnosis = found.pop("diagnosis")
    numbers = {
        name: np.where(c == -9, np.nan, c) if c.dtype == np.float64 else c for name, c in found.items()
    }
    numbers["cholesterol"] = np.where(numbers["cholesterol"] == 0, np.nan, numbers["cholesterol"])
    return Table({**numbers, "ill": (diagnosis > 0).astype(np.float64)})


def _names() -> str:
    return ", ".join(sorted(table_registry))
