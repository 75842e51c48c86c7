"""What clients compute: one method per file, each reading like the method's own pseudo-code."""

from .base import Algorithm, LocalWork, Mixed, Reply, algorithms
from .client_data import ClientData
from .clustered_fl import ClusteredFL
from .fedavg import FedAvg
from .fedem import FedEM
from .fedprox import FedProx
from .finetuned import FedAvgPlus
from .ifca import IFCA
from .local import Local
from .local_sgd import Trained, local_sgd
from .mocha import Mocha
from .optimizers import Optimizer, optimizer_names, schedules
from .scaffold import Scaffold

__all__ = [
    "IFCA",
    "Algorithm",
    "ClientData",
    "ClusteredFL",
    "FedAvg",
    "FedAvgPlus",
    "FedEM",
    "FedProx",
    "Local",
    "LocalWork",
    "Mixed",
    "Mocha",
    "Optimizer",
    "Reply",
    "Scaffold",
    "Trained",
    "algorithms",
    "local_sgd",
    "optimizer_names",
    "schedules",
]
