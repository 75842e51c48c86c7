"""What clients compute: one method per file, each reading like the method's own pseudo-code."""

from .base import Algorithm, LocalWork, Mixed, Reply, algorithms
from .client_data import ClientData
from .fedavg import FedAvg
from .fedem import FedEM
from .fedprox import FedProx
from .finetuned import FedAvgPlus
from .local import Local
from .local_sgd import Trained, local_sgd
from .optimizers import Optimizer, optimizer_names, schedules
from .scaffold import Scaffold

__all__ = [
    "Algorithm",
    "ClientData",
    "FedAvg",
    "FedAvgPlus",
    "FedEM",
    "FedProx",
    "Local",
    "LocalWork",
    "Mixed",
    "Optimizer",
    "Reply",
    "Scaffold",
    "Trained",
    "algorithms",
    "local_sgd",
    "optimizer_names",
    "schedules",
]
