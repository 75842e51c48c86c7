"""Who has what data? Federations, the data sets and partitions that make them, and pictures of them."""

from .describe import describe
from .federation import Federation, Split
from .load import load
from .partitions import partitions
from .picture import draw_partition
from .skews import skews
from .sources import Source, sources
from .validation import validate

__all__ = [
    "Federation",
    "Source",
    "Split",
    "describe",
    "draw_partition",
    "load",
    "partitions",
    "skews",
    "sources",
    "validate",
]
