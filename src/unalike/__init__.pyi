"""Federated learning for clients that are not alike: the public names, each with the room it comes from."""

from . import (
    advice,
    aggregation,
    algorithms,
    analytics,
    data,
    engine,
    errors,
    memorization,
    models,
    participation,
    privacy,
    report,
    runs,
    testing,
    timing,
    topology,
    typing,
)
from .aggregation.base import Aggregator
from .algorithms import (
    Aggregate,
    Algorithm,
    ClientData,
    FedAvg,
    FedAvgPlus,
    FedProx,
    Local,
    LocalWork,
    Optimizer,
    Reply,
    Scaffold,
    local_sgd,
)
from .core import pytrees
from .data import Federation, MemoryStream, Selection, Stream, load
from .engine import ClientError
from .errors import ConfigError, DataError, RunError, UnalikeError
from .models import Batch, Model, Task
from .participation import Cohort, Full, Participation, RoundContext, Sampler, Uniform
from .testing import ContractError
from .timing import Step, Synchronous, Timing
from .training import newcomers
from .training.progress_bar import ProgressBar
from .training.run import Run
from .training.train import train

__version__: str
__all__ = [
    "Aggregate",
    "Aggregator",
    "Algorithm",
    "Batch",
    "ClientData",
    "ClientError",
    "Cohort",
    "ConfigError",
    "ContractError",
    "DataError",
    "FedAvg",
    "FedAvgPlus",
    "FedProx",
    "Federation",
    "Full",
    "Local",
    "LocalWork",
    "MemoryStream",
    "Model",
    "Optimizer",
    "Participation",
    "ProgressBar",
    "Reply",
    "RoundContext",
    "Run",
    "RunError",
    "Sampler",
    "Scaffold",
    "Selection",
    "Step",
    "Stream",
    "Synchronous",
    "Task",
    "Timing",
    "UnalikeError",
    "Uniform",
    "advice",
    "aggregation",
    "algorithms",
    "analytics",
    "data",
    "engine",
    "errors",
    "load",
    "local_sgd",
    "memorization",
    "models",
    "newcomers",
    "participation",
    "privacy",
    "pytrees",
    "report",
    "runs",
    "testing",
    "timing",
    "topology",
    "train",
    "typing",
]
