"""Reports: figures in one style, and one HTML page per run."""

from .benchmark_report import report_benchmark
from .comparison_plots import comparison_clients, comparison_curves
from .comparison_report import report_comparison
from .html import write_report
from .plots import client_distribution, curves, save, traffic
from .run_report import report_run
from .tuning_report import report_tuning, tuning_plot

__all__ = [
    "client_distribution",
    "comparison_clients",
    "comparison_curves",
    "curves",
    "report_benchmark",
    "report_comparison",
    "report_run",
    "report_tuning",
    "save",
    "traffic",
    "tuning_plot",
    "write_report",
]
