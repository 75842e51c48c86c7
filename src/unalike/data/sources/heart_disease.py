"""UCI heart disease: patients of four hospitals.

UCI heart disease (Janosi, Steinbrunn, Pfisterer and Detrano, 1989), as a cross-silo benchmark: du Terrail
et al., "FLamby: Datasets and Benchmarks for Cross-Silo Federated Learning in Realistic Healthcare
Settings", 2022.

The last three of the 13 attributes (slope of the ST segment, vessels colored, thallium test) are missing
for most patients outside Cleveland and are dropped; then every patient with anything still missing is
dropped. That leaves 303, 261, 46 and 130 patients in Cleveland, Hungary, Switzerland and Long Beach:
exactly the published counts. Chest pain (4 kinds) and resting electrocardiogram (3 kinds) become indicator
columns without the first kind, which makes 13 features. A cholesterol of 0 (all of Switzerland, some of Long
Beach) means that it was not measured; nobody is dropped for it, which keeps the published counts, and the
mean of the known ones stands in for it.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ...typing import Array
from .files import reading, require_local
from .source import Source, source_registry, standardize

HOSPITALS = {
    "cleveland": "Cleveland",
    "hungarian": "Budapest",
    "switzerland": "Zurich and Basel",
    "va": "Long Beach",
}
_WHERE = "the processed.*.data files of archive.ics.uci.edu, data set 45"
_KEPT = tuple(range(10))
_KINDS = {2: (2, 3, 4), 6: (1, 2)}  # column: the kinds that get an indicator
_CHOLESTEROL, _DIAGNOSIS = 4, 13


@source_registry.add("heart_disease")
def heart_disease() -> Source:
    """740 patients of four hospitals with 13 features, ill or not; hospitals are the clients."""
    tables = [
        read_hospital(require_local(f"heart_disease/processed.{name}.data", _WHERE)) for name in HOSPITALS
    ]
    table = with_mean_cholesterol(np.concatenate(tables))
    owners = np.repeat(np.arange(len(tables)), [len(rows) for rows in tables])
    return Source(
        standardize(features(table)),
        (table[:, _DIAGNOSIS] > 0).astype(np.int32),
        2,
        owners=owners,
        owner_names=tuple(HOSPITALS.values()),
        label_names=("healthy", "ill"),
        description="UCI heart disease, four hospitals",
    )


def read_hospital(path: Path) -> Array:
    """One hospital's patients with all kept columns known; `?` and -9 are missing, a header is skipped."""
    with reading(path, "one of " + _WHERE), path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].startswith("X")]
        table = np.array(
            [[np.nan if word.strip() in ("?", "") else float(word) for word in row] for row in rows]
        )
        table[table == -9] = np.nan
        known = ~np.isnan(table[:, [*_KEPT, _DIAGNOSIS]]).any(axis=1)
        return table[known]


def with_mean_cholesterol(table: Array) -> Array:
    """The same patients; a cholesterol of 0 was not measured, and becomes the mean of the others.

    >>> patients = np.zeros((3, 14))
    >>> patients[:, _CHOLESTEROL] = 0, 200, 240
    >>> with_mean_cholesterol(patients)[:, _CHOLESTEROL].tolist()
    [220.0, 200.0, 240.0]
    """
    measured = table[:, _CHOLESTEROL]
    known = measured > 0
    filled = table.copy()
    filled[~known, _CHOLESTEROL] = measured[known].mean() if known.any() else 0.0
    return filled


def features(table: Array) -> Array:
    """The kept columns, kinds as indicators."""
    numbers = table[:, [column for column in _KEPT if column not in _KINDS]]
    indicators = [table[:, column] == kind for column, kinds in _KINDS.items() for kind in kinds]
    return np.column_stack([numbers, *indicators]).astype(np.float64)
