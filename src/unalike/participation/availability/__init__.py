"""Availability models: Markov chains, diurnal patterns, populations and recorded traces."""

from .base import Always, Availability, availability_registry, simulate
from .chain import from_transitions, lowest_correlation, mean_run, transition_matrix
from .diurnal import Diurnal
from .markov import Markov
from .populations import clusters, four_groups, groups
from .trace import Trace
from .trace_files import write_trace

__all__ = [
    "Always",
    "Availability",
    "Diurnal",
    "Markov",
    "Trace",
    "availability_registry",
    "clusters",
    "four_groups",
    "from_transitions",
    "groups",
    "lowest_correlation",
    "mean_run",
    "simulate",
    "transition_matrix",
    "write_trace",
]
