"""DPASGD: decentralized periodic averaging; some local steps, then an average with neighbors (Wang, Joshi,
Cooperative SGD: A Unified Framework for the Design and Analysis of Communication-Efficient SGD Algorithms,
2018).

    client t:   theta_t  <-  descend from theta_t on its own rows
                theta_t  <-  sum_s W[t, s] theta_s          with the neighbors s it hears

FedAvg is the case in which everyone hears everyone. Clients count alike unless `step_weights` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import algorithm_registry
from .fedavg import FedAvg
from .shared.decentralized import Decentralized


@algorithm_registry.add("dpasgd")
@dataclass(frozen=True, kw_only=True)
class DPASGD(Decentralized, FedAvg):
    """FedAvg between neighbors, without a server (Wang, Joshi, 2018); needs a network or gossip."""

    step_weights: str = "equal"

    name: ClassVar[str] = "dpasgd"
