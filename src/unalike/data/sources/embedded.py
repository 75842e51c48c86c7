"""Which real data sets need no download?

The three that scikit-learn carries: small enough for a first experiment on any machine.
"""

from __future__ import annotations

import numpy as np

from .source import Source, sources, standardise


@sources.add("digits")
def digits() -> Source:
    """1,797 handwritten digits of 8x8 pixels, 10 classes (no download)."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = (data.images / 16).astype(np.float32)[..., None]
    return Source(images, data.target, 10, description="handwritten digits, 8x8 pixels")


@sources.add("breast_cancer")
def breast_cancer() -> Source:
    """569 tumours with 30 measurements, benign or malignant (no download)."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = tuple(str(name) for name in data.target_names)
    return Source(
        standardise(data.data), data.target, 2, label_names=names, description="breast cancer, Wisconsin"
    )


@sources.add("diabetes")
def diabetes() -> Source:
    """442 patients, 10 measurements, the disease's progress in a year: a regression (no download)."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    targets = standardise(data.target[:, None])[:, 0]
    return Source(standardise(data.data), targets, None, description="progress of diabetes, standardised")
