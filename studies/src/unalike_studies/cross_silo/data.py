"""Centers of the cross-silo study: real files where they are, generated centers everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from unalike.data import Federation, Split
from unalike.data.sources.cross_silo_like import HEART_SIZES, TCGA_FEATURES, TCGA_SIZES
from unalike.data.sources.files import local

HEART_FILE, TCGA_FILE = "heart_disease/processed.va.data", "tcga_brca.csv"
TCGA_PRINTED = "311, 196, 206, 16, 51"
"""A misprint: these are 780 of the 1,088 patients that the same table counts."""


class Published(NamedTuple):
    """What is known of a data set."""

    file: str | None
    """A file that it needs; None for generated patients."""
    sizes: tuple[int, ...]
    inputs: int
    printed: str = ""
    """The sizes in Table 1.2, where they are not these."""


SIZES = {
    "heart_disease": Published(HEART_FILE, HEART_SIZES, 13),
    "heart_like": Published(None, HEART_SIZES, 13),
    "tcga_brca": Published(TCGA_FILE, TCGA_SIZES, TCGA_FEATURES, TCGA_PRINTED),
    "tcga_like": Published(None, TCGA_SIZES, TCGA_FEATURES, TCGA_PRINTED),
}
HEART = {"heart-disease": HEART_FILE, "heart-like": None}
SURVIVAL = {"tcga-brca": TCGA_FILE, "tcga-like": None}
"""By benchmark: a file that it needs."""


def available(benchmarks: Mapping[str, str | None]) -> list[str]:
    """Those whose files are there."""
    return [name for name, file in benchmarks.items() if file is None or local(file) is not None]


def first_columns(centers: Federation, count: int) -> Federation:
    """The same training patients with fewer inputs."""
    rows = centers.train
    return replace(centers, train=_split(rows, count), validation=_none(rows, count), test=_none(rows, count))


def _split(rows: Split, count: int) -> Split:
    return Split(np.ascontiguousarray(rows.x[:, :count]), rows.y, rows.offsets)


def _none(rows: Split, count: int) -> Split:
    return Split(rows.x[:0, :count], rows.y[:0], np.zeros_like(rows.offsets))
