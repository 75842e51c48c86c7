"""TCGA-BRCA: survival with breast cancer in six regions, a cross-silo benchmark.

The Cancer Genome Atlas, breast invasive carcinoma: clinical data of 1,088 patients, prepared as in du Terrail
et al., "FLamby: Datasets and Benchmarks for Cross-Silo Federated Learning in Realistic Healthcare Settings",
2022, with 39 features and centers of 311, 196, 206, 162, 162 and 51 patients.

The file is one table, `tcga_brca.csv`, with the columns `center` (0 to 5), `T` (time, positive), `E` (1:
died, 0: followed until then) and the features, in any order; `pid` is ignored. Its license is the open-access
policy of the Genomic Data Commons; the library ships no patient.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...typing import Array
from ..survival import signed_times
from .files import reading, require_local
from .source import Source, source_registry

FILE = "tcga_brca.csv"
_WHERE = "clinical data of TCGA-BRCA as one table with the columns center, T, E and features, from FLamby"
_NEEDED = ("center", "T", "E")
_IGNORED = ("", "pid", "Unnamed: 0")


@source_registry.add("tcga_brca")
def tcga_brca() -> Source:
    """1,088 patients of six centers with signed survival times; needs tcga_brca.csv (UNALIKE_DATA)."""
    x, signed, centers = read_tcga(require_local(FILE, _WHERE))
    return Source(
        x,
        signed.astype(np.float32),
        None,
        owners=centers,
        owner_names=tuple(f"region {k + 1}" for k in range(int(centers.max()) + 1)),
        description="TCGA-BRCA, six groups of hospitals",
    )


def read_tcga(path: Path) -> tuple[Array, Array, Array]:
    """Features, signed times and centers; columns that are needed and rows with gaps are said by name."""
    with reading(path, _WHERE), path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
        missing = [name for name in _NEEDED if not rows or name not in rows[0]]
        if missing:
            raise DataError(f"{path.name} has no column {', '.join(missing)}; it must hold {_WHERE}.")
        features = [name for name in rows[0] if name not in (*_NEEDED, *_IGNORED)]
        x = np.array([[float(row[name]) for name in features] for row in rows], np.float32)
        times, events, centers = (
            np.array([float(row[name]) for row in rows]) for name in ("T", "E", "center")
        )
        if not np.isfinite(x).all():
            raise DataError(f"{path.name} has gaps in its features; drop or fill them first.")
        if not (np.isfinite(centers).all() and (centers >= 0).all() and (centers % 1 == 0).all()):
            raise DataError(f"centers of {path.name} must be whole numbers from 0.")
        return x, signed_times(times, events), centers.astype(np.int64)
