"""Special cases of the asynchronous bound: central training, sampling, selection.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates", 2023): with one client the bound of asynchronous training is that of SGD, with
fresh models that of client sampling, and with a rule that says who is next, that of waiting for all plus the
length of the rule's window. All are orders: constants are dropped.
"""

from __future__ import annotations

from ...errors import ConfigError
from .planner import TrainingSetup


def central_bound(course: TrainingSetup) -> float:
    """SGD on one machine: D0 / (eta K N) + eta Sigma.

    >>> central_bound(TrainingSetup(aggregations=100, learning_rate=0.1))
    0.2
    """
    return _start(course) + course.step * course.residual


def sampled_bound(course: TrainingSetup, clients: int, alpha: float, beta: float) -> float:
    """Clients that are drawn and start from the newest model, with E[w_i w_j] = alpha p_i p_j.

    >>> one = TrainingSetup(aggregations=100, learning_rate=0.1)
    >>> sampled_bound(one, clients=1, alpha=1.0, beta=0.0) == central_bound(one)
    True
    """
    noise = course.step * (alpha / clients + beta) * course.residual
    return _start(course) + noise + _drift(course)


def selected_bound(course: TrainingSetup, clients: int, window: int) -> float:
    """Clients that are taken by a rule that is fair over a window: waiting's bound plus eta (W - 1) K."""
    return sampled_bound(course, clients, 1.0, 0.0) + course.step * (window - 1) * course.local_steps


def shrinking_exponents(window_growth: float, staleness_growth: float) -> tuple[float, float]:
    """For W = O(N^a) and tau = O(N^b), the open range of c in which learning rates N^-c reach the optimum.

    >>> shrinking_exponents(0.2, 0.5)
    (0.5, 1.0)
    """
    for growth in (window_growth, staleness_growth):
        if not 0 <= growth < 1:
            raise ConfigError(
                f"windows and staleness must grow more slowly than the number of steps, with exponents from "
                f"0 to below 1, but one is {growth:g}; no learning rate makes up for it."
            )
    return max(window_growth, staleness_growth), 1.0


def _start(course: TrainingSetup) -> float:
    return course.initial_distance / (course.step * course.local_steps * course.aggregations)


def _drift(course: TrainingSetup) -> float:
    return (course.local_rate * (course.local_steps - 1)) ** 2 * course.residual
