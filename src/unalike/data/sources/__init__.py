"""Which data sets can be named?

Each module registers its makers in `sources`; importing this package imports them all. Files and heavy
libraries are only touched when a source is made.
"""

from . import embedded, gaussians, heart_disease, images, leaf, mixture, quadratic, shakespeare
from .source import Source, source_registry

__all__ = [
    "Source",
    "embedded",
    "gaussians",
    "heart_disease",
    "images",
    "leaf",
    "mixture",
    "quadratic",
    "shakespeare",
    "source_registry",
]
