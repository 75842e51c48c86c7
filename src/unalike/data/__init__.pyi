from .federation import Federation, Split
from .heterogeneity import describe
from .loader import load
from .partition_plot import draw_partition
from .partitions import partition_registry
from .skews import skew_registry
from .sources import Source, source_registry
from .streams import MemoryStream, Selection, Stream
from .validation import validate
from .watermarks import put_watermarks, watermark_registry

__all__ = [
    "Federation",
    "MemoryStream",
    "Selection",
    "Source",
    "Split",
    "Stream",
    "describe",
    "draw_partition",
    "load",
    "partition_registry",
    "put_watermarks",
    "skew_registry",
    "source_registry",
    "validate",
    "watermark_registry",
]
