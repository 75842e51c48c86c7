"""Federated learning for clients that are not alike."""

from .engine.devices import set_up as _set_up

_set_up()

from . import algorithms, data, memorisation, models, newcomers, participation, testing, timing  # noqa: E402
from .algorithms import (  # noqa: E402
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
from .data import Federation, load  # noqa: E402
from .engine import Selection, Stream  # noqa: E402
from .errors import ConfigError, DataError, RunError, UnalikeError  # noqa: E402
from .models import Batch, Model, Task  # noqa: E402
from .participation import Cohort, Full, Participation, Sampler, Turn, Uniform  # noqa: E402
from .run import Run  # noqa: E402
from .timing import Step, Synchronous, Timing  # noqa: E402
from .training import train  # noqa: E402

__version__ = "0.1.0"

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
    "load",
    "local_sgd",
    "memorisation",
    "models",
    "newcomers",
    "participation",
    "testing",
    "timing",
    "train",
]
