"""Bounds of asynchronous training with measured constants: how far does each timing policy get in a given
time?

The order of the mean optimality gap of N steps (Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for
Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023), with N the steps that a
policy takes in the time, and D0, Sigma, R and L measured on these clients. Steps are as long as 1 / sqrt(K N)
and the theory allow. Two theorems say how much it costs that steps have different objectives, R, or
eta (W - 1) K; the smaller is taken. Weights that are not corrected have a lasting term beside it,

    chi^2 sum_i q~_i [L_i(w*) - L_i*].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from ..theory.asynchrony.bias_terms import lasting_bias
from ..theory.asynchrony.objective import Constants, constants, surrogate
from ..theory.asynchrony.planner import TrainingSetup, aggregations, gap_terms, largest_learning_rate
from ..timing import Clients, Policy
from ..typing import Document
from .constants import GradientConstants


@dataclass(frozen=True)
class TimingBound:
    """What the theory says of a policy in a time; None where it has no bound for it."""

    policy: str
    aggregations: int
    learning_rate: float
    gap: float | None
    """The order of the mean optimality gap with corrected weights."""
    bias: float
    """What identical weights add, however long training goes on."""

    def as_dict(self) -> Document:
        """Ready for JSON."""
        return asdict(self)


def timing_bounds(
    policies: Mapping[str, Policy],
    clients: Clients,
    found: GradientConstants,
    time: float = 1000.0,
    local_steps: int = 10,
) -> list[TimingBound]:
    """Every policy's bound after so much time."""
    return [
        _bound(name, policy, clients, found.timing_course(aggregations(policy, clients, time), local_steps))
        for name, policy in policies.items()
    ]


def _bound(name: str, policy: Policy, clients: Clients, course: TrainingSetup) -> TimingBound:
    corrected = replace(policy, weights="corrected")
    known = constants(corrected, clients)
    short = replace(course, learning_rate=min(course.local_rate, largest_learning_rate(known, course)))
    gaps = [course.surrogate_gap] * len(clients.importance)  # only their mean is told
    bias = lasting_bias(surrogate(replace(policy, weights="identical"), clients), gaps)
    return TimingBound(name, course.aggregations, short.local_rate, _gap(known, short), bias)


def _gap(known: Constants, course: TrainingSetup) -> float | None:
    """The smaller of the two theorems' bounds; None where there is no alpha or beta."""
    if known.alpha is None or known.beta is None:
        return None
    return min(gap_terms(one, course).total for one in (known, replace(known, window=None)))
