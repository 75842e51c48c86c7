"""Run folders that survive `kill -9`: record, checkpoints, model, and comparisons."""

from .checkpoints import Checkpoints
from .comparison import Comparison, compare
from .folder import RunFolder
from .lock import lock_folder
from .package_versions import changes, versions
from .record import Record
from .statistics import bottom_decile, higher_is_better, mean_interval, paired_test, summarize_clients
from .tensors import flatten, load_tensors, restore, save_tensors

__all__ = [
    "Checkpoints",
    "Comparison",
    "Record",
    "RunFolder",
    "bottom_decile",
    "changes",
    "compare",
    "flatten",
    "higher_is_better",
    "load_tensors",
    "lock_folder",
    "mean_interval",
    "paired_test",
    "restore",
    "save_tensors",
    "summarize_clients",
    "versions",
]
