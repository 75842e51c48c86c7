"""Robust aggregation rules (Byzantine-robust): one update from uploads of which some may be malicious."""

from .base import RobustRule, Votes
from .bucketing import Bucketing
from .bulyan import Bulyan
from .centered_clipping import CenteredClipping
from .geometric_median import GeometricMedian
from .krum import Krum, MultiKrum
from .mean import Mean
from .median import Median
from .nearest_neighbors import NearestNeighborMixing
from .trimmed_mean import TrimmedMean

__all__ = [
    "Bucketing",
    "Bulyan",
    "CenteredClipping",
    "GeometricMedian",
    "Krum",
    "Mean",
    "Median",
    "MultiKrum",
    "NearestNeighborMixing",
    "RobustRule",
    "TrimmedMean",
    "Votes",
]
