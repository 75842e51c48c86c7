"""Cross-silo benchmarks: strategies compared on data with natural differences."""

from .catalog import Benchmark, benchmark_registry
from .protocol import BenchmarkResult, run_benchmark
from .strategies import STRATEGIES, check_strategies
from .table import tidy_csv, to_latex

__all__ = [
    "STRATEGIES",
    "Benchmark",
    "BenchmarkResult",
    "benchmark_registry",
    "check_strategies",
    "run_benchmark",
    "tidy_csv",
    "to_latex",
]
