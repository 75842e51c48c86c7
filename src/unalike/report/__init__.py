"""What does a person look at?  Figures in one quiet style, and one HTML page per run."""

from .comparison_plots import comparison_clients, comparison_curves
from .comparison_report import report_comparison
from .html import write_report
from .plots import client_distribution, curves, save, traffic
from .run_report import report_run

__all__ = [
    "client_distribution",
    "comparison_clients",
    "comparison_curves",
    "curves",
    "report_comparison",
    "report_run",
    "save",
    "traffic",
    "write_report",
]
