"""Which data sets can be named?

Each module registers its makers in `sources`; importing this package imports them all. Files and heavy
libraries are only touched when a source is made.
"""

from . import (
    cifar100,
    cross_silo_like,
    embedded,
    gaussians,
    heart_disease,
    images,
    leaf,
    medical_images,
    mixture,
    quadratic,
    shakespeare,
    tcga_brca,
    user_files,
)
from .source import Source, source_registry

__all__ = [
    "Source",
    "cifar100",
    "cross_silo_like",
    "embedded",
    "gaussians",
    "heart_disease",
    "images",
    "leaf",
    "medical_images",
    "mixture",
    "quadratic",
    "shakespeare",
    "source_registry",
    "tcga_brca",
    "user_files",
]
