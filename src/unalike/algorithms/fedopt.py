"""What if the server takes the clients' mean change as a gradient?  (FedOpt: FedAvgM, FedAdam, FedYogi, ...)

    FedAvg, whose server follows -(sum_i w_i x_i - x) with momentum or an adaptive step.

Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification", 2019. Reddi et al., "Adaptive Federated Optimization", 2021.
"""

from __future__ import annotations

from .base import LocalWork, algorithms
from .fedavg import FedAvg
from .optimizers import Optimizer

WORK, CLIENTS = LocalWork(), Optimizer()
MOMENTUM = Optimizer.of("sgd", 1.0, {"momentum": 0.9})
ADAM = Optimizer.of("adam", 0.01, {"b2": 0.99, "eps": 1e-3})
YOGI = Optimizer.of("yogi", 0.01, {"b2": 0.99, "eps": 1e-3})
ADAGRAD = Optimizer.of("adagrad", 0.03, {"eps": 1e-3})


@algorithms.add("fedavgm")
def fedavgm(
    work: LocalWork = WORK, optimizer: Optimizer = CLIENTS, server_optimizer: Optimizer = MOMENTUM
) -> FedAvg:
    """FedAvg with momentum at the server (Hsu et al., 2019)."""
    return FedAvg(work=work, optimizer=optimizer, server_optimizer=server_optimizer)


@algorithms.add("fedadam")
def fedadam(
    work: LocalWork = WORK, optimizer: Optimizer = CLIENTS, server_optimizer: Optimizer = ADAM
) -> FedAvg:
    """FedAvg with Adam at the server (Reddi et al., 2021)."""
    return FedAvg(work=work, optimizer=optimizer, server_optimizer=server_optimizer)


@algorithms.add("fedyogi")
def fedyogi(
    work: LocalWork = WORK, optimizer: Optimizer = CLIENTS, server_optimizer: Optimizer = YOGI
) -> FedAvg:
    """FedAvg with Yogi at the server (Reddi et al., 2021)."""
    return FedAvg(work=work, optimizer=optimizer, server_optimizer=server_optimizer)


@algorithms.add("fedadagrad")
def fedadagrad(
    work: LocalWork = WORK, optimizer: Optimizer = CLIENTS, server_optimizer: Optimizer = ADAGRAD
) -> FedAvg:
    """FedAvg with Adagrad at the server (Reddi et al., 2021)."""
    return FedAvg(work=work, optimizer=optimizer, server_optimizer=server_optimizer)
