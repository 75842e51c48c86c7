"""Client drift lemmas, as published and tightened.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino): with E local steps of length
gamma and gradients of squared norm at most G^2, the mean model is from a client's perturbed point at most

    4 gamma^2 E^2 G^2 [ 4 + (1 - beta)^2 + 8 r^2 (1 - 1/beta)^2 ],        r = gamma_{t-1} / gamma_t,

which explodes as beta falls. That is due to the proof: the square is convex and the point lies between the
client's model and the mean of others, so [ beta + (1 - beta) (1/2 + 2 r^2) ] will do.
"""

from __future__ import annotations

from .problem import Method, Proximal


def published_factor(beta: float, ratio: float = 1.0) -> float:
    """The bracket as published, for a step that was `ratio` times as long in the round before.

    >>> published_factor(0.5), published_factor(0.5, 2.0)
    (12.25, 36.25)
    """
    return 4 + (1 - beta) ** 2 + 8 * ratio**2 * (1 - 1 / beta) ** 2


def tightened_factor(beta: float, ratio: float = 1.0) -> float:
    """The same from convexity of the square: 2.5 - 1.5 beta for fixed steps.

    >>> tightened_factor(0.5), tightened_factor(1.0)
    (1.75, 1.0)
    """
    return beta + (1 - beta) * (0.5 + 2 * ratio**2)


def drift_bound(
    method: Method, step: float, local_steps: int, squared_gradient: float, tightened: bool = False
) -> float:
    """The largest expected squared distance between the mean model and where a client takes a gradient.

    >>> from unalike.theory.perturbed_gradient.problem import Perturbed
    >>> drift_bound(Proximal(), 0.1, 10, 1.0) == drift_bound(Perturbed(1.0), 0.1, 10, 1.0, tightened=True)
    True
    """
    reach = 4 * step**2 * local_steps**2 * squared_gradient
    if isinstance(method, Proximal):
        return reach
    return reach * (tightened_factor if tightened else published_factor)(method.beta)
