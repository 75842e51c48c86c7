"""Embedded data sets that need no download: digits, breast cancer and diabetes.

Small tables of the UCI Machine Learning Repository and of the literature, kept beside this file as NumPy
arrays. Pixels and measurements are those that scikit-learn carries, to the bit.

- digits: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits" (1998), the test part
- breast cancer: Wolberg, Mangasarian, Street and Street, "Breast Cancer Wisconsin (Diagnostic)" (1995)
- diabetes: Efron, Hastie, Johnstone and Tibshirani, "Least Angle Regression" (2004)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...typing import Array
from .source import Source, source_registry, standardize

TABLES = Path(__file__).with_name("embedded_tables")


@source_registry.add("digits")
def digits() -> Source:
    """1,797 handwritten digits of 8x8 pixels, 10 classes (no download)."""
    table = _load("digits")
    images = (table["images"][..., None] / 16).astype(np.float32)
    return Source(images, table["labels"].astype(np.int64), 10, description="handwritten digits, 8x8 pixels")


@source_registry.add("breast_cancer")
def breast_cancer() -> Source:
    """569 tumours with 30 measurements, benign or malignant (no download)."""
    table = _load("breast_cancer")
    return Source(
        standardize(table["rows"]),
        table["labels"].astype(np.int64),
        2,
        label_names=tuple(str(name) for name in table["label_names"]),
        description="breast cancer, Wisconsin",
    )


@source_registry.add("diabetes")
def diabetes() -> Source:
    """442 patients, 10 measurements, the disease's progress in a year: a regression (no download)."""
    table = _load("diabetes")
    targets = standardize(table["targets"][:, None])[:, 0]
    return Source(standardize(table["rows"]), targets, None, description="progress of diabetes, standardized")


def _load(name: str) -> dict[str, Array]:
    """The arrays of one table."""
    with np.load(TABLES / f"{name}.npz", allow_pickle=False) as arrays:
        return dict(arrays)
