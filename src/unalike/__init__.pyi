"""Federated learning for clients that are not alike: the public names, each with the room it comes from."""

from . import (
    algorithms,
    data,
    engine,
    errors,
    insight,
    memorisation,
    models,
    network,
    newcomers,
    participation,
    report,
    runs,
    testing,
    timing,
    trees,
)
from .algorithms import (
    Algorithm,
    ClientData,
    FedAvg,
    FedAvgPlus,
    FedProx,
    Local,
    LocalWork,
    Mixed,
    Optimizer,
    Reply,
    Scaffold,
    local_sgd,
)
from .data import Federation, load
from .engine import Selection, Stream
from .errors import ConfigError, DataError, RunError, UnalikeError
from .models import Batch, Model, Task
from .participation import Cohort, Full, Participation, Sampler, Turn, Uniform
from .run import Run
from .timing import Step, Synchronous, Timing
from .training import train

__version__: str
__all__ = [
    "Algorithm",
    "Batch",
    "ClientData",
    "Cohort",
    "ConfigError",
    "DataError",
    "FedAvg",
    "FedAvgPlus",
    "FedProx",
    "Federation",
    "Full",
    "Local",
    "LocalWork",
    "Mixed",
    "Model",
    "Optimizer",
    "Participation",
    "Reply",
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
    "Turn",
    "UnalikeError",
    "Uniform",
    "algorithms",
    "data",
    "engine",
    "errors",
    "insight",
    "load",
    "local_sgd",
    "memorisation",
    "models",
    "network",
    "newcomers",
    "participation",
    "report",
    "runs",
    "testing",
    "timing",
    "train",
    "trees",
]
