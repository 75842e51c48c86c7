"""Embedded data sets that need no download: scikit-learn's digits, cancer, diabetes.

The three that scikit-learn carries: small enough for a first experiment on any machine.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...typing import Float64s
from .source import Source, source_registry, standardize


@source_registry.add("digits")
def digits() -> Source:
    """1,797 handwritten digits of 8x8 pixels, 10 classes (no download)."""
    table = _digits_table()
    images = (table[:, :-1].reshape(-1, 8, 8, 1) / 16).astype(np.float32)
    return Source(images, table[:, -1].astype(np.int64), 10, description="handwritten digits, 8x8 pixels")


@source_registry.add("breast_cancer")
def breast_cancer() -> Source:
    """569 tumours with 30 measurements, benign or malignant (no download)."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = tuple(str(name) for name in data.target_names)
    return Source(
        standardize(data.data), data.target, 2, label_names=names, description="breast cancer, Wisconsin"
    )


@source_registry.add("diabetes")
def diabetes() -> Source:
    """442 patients, 10 measurements, the disease's progress in a year: a regression (no download)."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    targets = standardize(data.target[:, None])[:, 0]
    return Source(standardize(data.data), targets, None, description="progress of diabetes, standardized")


@cache
def _digits_table() -> Float64s:
    """Pixels from 0 to 16, and the digit; a comparison reads it once, not for every run."""
    return np.loadtxt(_find_sklearn_file("digits.csv.gz"), delimiter=",")


def _find_sklearn_file(name: str) -> Path:
    """A file of scikit-learn's, found without the second that importing scikit-learn takes."""
    package = find_spec("sklearn")
    path = Path(package.origin or "").parent / "datasets" / "data" / name if package else None
    if path is None or not path.is_file():
        raise DataError(f"scikit-learn does not carry {name}; choose other data.")
    return path
