"""FedOpt: server optimizers on the clients' mean change as a gradient (FedAvgM, FedAdam, FedYogi, ...).

    FedAvg, whose server follows -(sum_i w_i x_i - x) with momentum or an adaptive step.

Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification", 2019. Reddi et al., "Adaptive Federated Optimization", 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import algorithm_registry
from .fedavg import FedAvg
from .shared.optimizers import Optimizer

MOMENTUM = Optimizer.of("sgd", 1.0, {"momentum": 0.9})
ADAM = Optimizer.of("adam", 0.01, {"b2": 0.99, "eps": 1e-3})
YOGI = Optimizer.of("yogi", 0.01, {"b2": 0.99, "eps": 1e-3})
ADAGRAD = Optimizer.of("adagrad", 0.03, {"eps": 1e-3})
RATES = {"server_learning_rate": (1.0, 0.1, 0.01, 0.001)}


@algorithm_registry.add("fedavgm")
@dataclass(frozen=True, kw_only=True)
class FedAvgM(FedAvg):
    """FedAvg with momentum at the server (Hsu et al., 2019)."""

    server_optimizer: Optimizer = MOMENTUM

    name: ClassVar[str] = "fedavgm"
    grid: ClassVar = RATES


@algorithm_registry.add("fedadam")
@dataclass(frozen=True, kw_only=True)
class FedAdam(FedAvg):
    """FedAvg with Adam at the server (Reddi et al., 2021)."""

    server_optimizer: Optimizer = ADAM

    name: ClassVar[str] = "fedadam"
    grid: ClassVar = RATES


@algorithm_registry.add("fedyogi")
@dataclass(frozen=True, kw_only=True)
class FedYogi(FedAvg):
    """FedAvg with Yogi at the server (Reddi et al., 2021)."""

    server_optimizer: Optimizer = YOGI

    name: ClassVar[str] = "fedyogi"
    grid: ClassVar = RATES


@algorithm_registry.add("fedadagrad")
@dataclass(frozen=True, kw_only=True)
class FedAdagrad(FedAvg):
    """FedAvg with Adagrad at the server (Reddi et al., 2021)."""

    server_optimizer: Optimizer = ADAGRAD

    name: ClassVar[str] = "fedadagrad"
    grid: ClassVar = RATES
