"""Robust rules: what the server makes of uploads when some of them may be lies."""

from .base import RobustRule, Votes
from .bucketing import Bucketing
from .bulyan import Bulyan
from .centred_clipping import CentredClipping
from .geometric_median import GeometricMedian
from .krum import Krum, MultiKrum
from .mean import Mean
from .median import Median
from .nearest_neighbours import NearestNeighbourMixing
from .trimmed_mean import TrimmedMean

__all__ = [
    "Bucketing",
    "Bulyan",
    "CentredClipping",
    "GeometricMedian",
    "Krum",
    "Mean",
    "Median",
    "MultiKrum",
    "NearestNeighbourMixing",
    "RobustRule",
    "TrimmedMean",
    "Votes",
]
