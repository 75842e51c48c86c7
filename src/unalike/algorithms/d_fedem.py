"""D-FedEM: FedEM without a server; clients mix their components with those of neighbors (Marfoq, Neglia,
Bellet, Kameni, Vidal, Federated Multi-Task Learning under a Mixture of Distributions, 2021).

    client t:   q, weight_t  <-  E-step with its own components theta_t1 ... theta_tM
                theta_tm     <-  descend on  a_t mean_i q[i, m] loss(.; i)
                theta_tm     <-  sum_s W[t, s] theta_sm              with neighbors s alone

W is doubly stochastic, so it averages clients alike. With a_t = T importance_t (`importance`) everyone
together minimizes FedEM's objective at FedEM's step; a_t = importance_t, as printed, has the same minimum
at a T-th of the step; a_t = 1 (`equal`) minimizes the plain mean over clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import algorithm_registry
from .fedem import FedEM
from .shared.decentralized import Decentralized


@algorithm_registry.add("d-fedem")
@dataclass(frozen=True, kw_only=True)
class DFedEM(Decentralized, FedEM):
    """FedEM between neighbors, without a server (Marfoq et al., 2021); needs a timing that mixes, such as
    gossip."""

    name: ClassVar[str] = "d-fedem"
