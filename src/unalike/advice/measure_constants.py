"""Estimators of L, mu, s2, G^2 and Gamma: curvature, gradient noise and dissimilarity of client losses.

Gradients are looked at where training passes: at the first model and after some rounds of FedAvg.

    s2 = max |mini-batch gradient - client's gradient|^2,      G^2 = max |mini-batch gradient|^2,

the first averaged over a client's mini-batches. For softmax regression on rows x with a constant 1,
L_i <= l2 + lambda_max(mean of x x') / 2 is a proof; for other models L is the largest curvature that is seen,
by power iteration, which is less than L. Gamma comes from minimizing the loss of all and each client's own
(L-BFGS); where losses are not convex, these are the minima that descent from the first model finds. Two
pairs of b^2 and kappa^2 fit the models that were visited (:mod:`unalike.theory.sampling.dissimilarity`).
"""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np

from ..core.pixels import as_floats
from ..data import Federation
from ..models import Task
from ..models.losses import cross_entropy
from ..theory.sampling.dissimilarity import Dissimilarity, least_floor, without_growth
from ..typing import Array, Float64s
from .client_losses import ClientLosses, ProbeSettings, models_along_training, only_clients, some_clients
from .constants import GradientConstants


def measure_gradient_constants(
    federation: Federation, task: Task, look: ProbeSettings | None = None, seed: int = 0
) -> GradientConstants:
    """The constants of a federation with a model; rows never leave their client, numbers do."""
    look = look or ProbeSettings()
    clients = some_clients(federation, look.most_clients, seed)
    losses = ClientLosses(only_clients(federation, clients), task, seed)
    visited = [losses.start, *models_along_training(losses.federation, task, look, seed)]
    optimum, least = losses.minimize(None)
    own = [losses.minimize(i) for i in range(len(losses.federation))]
    noise = [losses.noise(w, i, look, seed) for w in visited for i in range(len(losses.federation))]
    bound = smoothness_bound(losses.federation, task)
    seen = bound if bound is not None else max(losses.curvature(w, i) for w, i in _corners(losses, visited))
    away = losses.share @ [float(np.sum((w - optimum) ** 2)) for w, _ in own]
    plain, grown = _dissimilarities(losses, visited, optimum)
    return GradientConstants(
        clients=len(losses.federation),
        smoothness=seen,
        smoothness_is_bound=bound is not None,
        convexity=task.l2 if is_convex(task) else 0.0,
        gradient_variance=max(variance for variance, _ in noise),
        squared_gradient=max(largest for _, largest in noise),
        heterogeneity=max(float(least - losses.share @ [value for _, value in own]), 0.0),
        dissimilarity=plain.floor,
        dissimilarity_at_optimum=grown.floor,
        dissimilarity_growth=grown.growth,
        initial_gap=max(float(losses.value(losses.start, None) - least), 0.0),
        squared_weights=float((federation.importance**2).sum()),
        optima_distance=float(np.sqrt(away / max(np.sum((losses.start - optimum) ** 2), 1e-30))),
        initial_distance=float(np.sum((losses.start - optimum) ** 2)),
        residual=losses.residual(optimum, look, seed),
    )


def smoothness_bound(federation: Federation, task: Task) -> float | None:
    """A proved L for softmax regression, the largest of all clients; None for other models.

    >>> from unalike.models import linear
    >>> rows = {"a": (np.ones((2, 3), np.float32), np.array([0, 1]))}
    >>> one = Federation.from_clients(rows, classes=2, test_fraction=0.0)
    >>> task = Task.classification(linear(input_shape=(3,), outputs=2), 2, l2=0.5)
    >>> round(smoothness_bound(one, task), 6)
    2.5
    """
    if task.sample_loss is not cross_entropy or not is_convex(task):
        return None
    parts = (federation.train.client(i)[0] for i in range(len(federation)))
    return task.l2 + max(_largest_moment(x) for x in parts if len(x)) / 2


def is_convex(task: Task) -> bool:
    """Whether the model is linear: one matrix, with or without intercepts."""
    params = jax.eval_shape(task.init, jax.random.key(0))
    return isinstance(params, dict) and "w" in params and set(params) <= {"w", "b"}


def _dissimilarities(
    losses: ClientLosses, visited: list[Float64s], optimum: Float64s
) -> tuple[Dissimilarity, Dissimilarity]:
    """Both pairs that fit the visited models and the optimum."""
    common, mean = np.array([losses.squared_gradients(w) for w in (*visited, optimum)]).T
    return without_growth(common, mean), least_floor(common, mean, float(mean[-1] - common[-1]))


def _corners(losses: ClientLosses, visited: list[Float64s]) -> Iterator[tuple[Float64s, int]]:
    """Every client at the first model, and the largest ones at the others."""
    sizes = losses.federation.train.sizes
    for i in range(len(sizes)):
        yield visited[0], i
    for w in visited[1:]:
        for i in np.argsort(-sizes)[:5]:
            yield w, int(i)


def _largest_moment(x: Array) -> float:
    """The largest eigenvalue of the mean of x x', with a constant 1 in every row."""
    flat = np.asarray(as_floats(x), np.float64).reshape(len(x), -1)
    wide = np.hstack([flat, np.ones((len(flat), 1))])
    gram = wide.T @ wide if len(wide) > wide.shape[1] else wide @ wide.T
    return float(np.linalg.eigvalsh(gram)[-1]) / len(wide)
