"""Error of averaged hyper-parameters of Gaussian processes, and the kernels it is known for.

Yue and Kontar, Federated Gaussian Process: Convergence, Automatic Personalization and Multi-fidelity Modeling
(2024). For clients that are alike, an RBF kernel in one dimension and step sizes beta / t, with high
probability after T steps in all,

    |signal error|^2 + |noise error|^2  <=  2 beta^2 (8 (E - 1)^2 + 2 + 4 E^2 / |S|) G^2 / (T + 1) + floor(M)

where E is local steps, |S| clients are drawn (no such term when all take part), G bounds gradients. The
floor is of the order of log M / M + (log M)^(eps - 1/2) for the signal, M^(eps - 1/2) for the noise: noise is
the easier to learn, more rounds help down to a floor, larger batches lower it. Nothing is known of lengths.

The eigenvalues of the kernel must fall fast enough. Exponentially: RBF in one dimension. Or as j^(-2b) with
b > (sqrt(21) + 3) / 4 = 1.896: a Matern kernel of smoothness nu in d dimensions has b = 1/2 + nu / d, so
Matern-3/2 qualifies in one dimension only. No published experiment with more than one input is covered.
"""

from __future__ import annotations

import math

from ..core.spec import Spec
from ..errors import ConfigError

LEAST_DECAY = (math.sqrt(21) + 3) / 4
"""What b must exceed where eigenvalues fall as j^(-2b)."""
SMOOTHNESS = {"ou": 0.5, "matern32": 1.5, "matern52": 2.5}
"""nu of the Matern kernels."""


def eigenvalue_decay(smoothness: float, inputs: int) -> float:
    """b of a Matern kernel, whose eigenvalues fall as j^(-2b).

    >>> eigenvalue_decay(1.5, 1), round(eigenvalue_decay(1.5, 21), 2)
    (2.0, 0.57)
    """
    if not smoothness > 0 or inputs < 1:
        raise ConfigError("smoothness must be positive, and there must be at least one input.")
    return 0.5 + smoothness / inputs


def is_covered(kernel: str, inputs: int) -> bool:
    """Whether the theory's assumption on eigenvalues holds for a kernel by name.

    >>> is_covered("rbf", 1), is_covered("rbf", 2), is_covered("matern32", 1), is_covered("matern32", 2)
    (True, False, True, False)
    """
    if kernel == "rbf":
        return inputs == 1
    nu = smoothness_of(kernel)
    return nu is not None and eigenvalue_decay(nu, inputs) > LEAST_DECAY


def smoothness_of(kernel: str) -> float | None:
    """nu of a Matern kernel by name; None for any other.

    >>> smoothness_of("matern52"), smoothness_of("matern:0.8"), smoothness_of("rbf")
    (2.5, 0.8, None)
    """
    spec = Spec.parse(kernel)
    if spec.name != "matern":
        return SMOOTHNESS.get(kernel)
    nu = spec.arguments[0] if spec.arguments else 1.5
    return None if isinstance(nu, str) else float(nu)


def explain_coverage(kernel: str, inputs: int) -> str:
    """In words, whether the bounds say anything about a kernel.

    >>> print(explain_coverage("matern32", 21))
    The bounds do not apply: matern32 with 21 inputs has b = 0.571, and they need b > 1.896.
    """
    if kernel == "rbf":
        said = "apply: eigenvalues of rbf fall exponentially with one input"
        return (
            f"The bounds {said}."
            if inputs == 1
            else (f"The bounds do not apply: for rbf they are proved for one input, and there are {inputs}.")
        )
    nu = smoothness_of(kernel)
    if nu is None:
        return f"The bounds do not apply: nothing is known for {kernel}."
    b = eigenvalue_decay(nu, inputs)
    if b > LEAST_DECAY:
        return (
            f"The bounds apply, to the noise alone: {kernel} with {inputs} input has b = {b:.3f} > "
            f"{LEAST_DECAY:.3f}."
        )
    return (
        f"The bounds do not apply: {kernel} with {inputs} inputs has b = {b:.3f}, and they need "
        f"b > {LEAST_DECAY:.3f}."
    )


def least_scaling(decay: float, smallest: float, largest: float) -> float:
    """What tau (which divides the signal's gradient, with log M) must exceed: 32 max^4 / (b min^4), for
    hyper-parameters between `smallest` and `largest`."""
    _check_range(decay, smallest, largest)
    return 32 * largest**4 / (decay * smallest**4)


def strength(scaling: float, decay: float, smallest: float, largest: float) -> float:
    """gamma = min{ 1 / (32 tau b max^2),  1 / (4 max^2) - 8 max^2 / (tau b min^4) }.

    >>> strength(least_scaling(1.0, 0.5, 1.0), 1.0, 0.5, 1.0)
    0.0
    """
    _check_range(decay, smallest, largest)
    return min(
        1 / (32 * scaling * decay * largest**2),
        1 / (4 * largest**2) - 8 * largest**2 / (scaling * decay * smallest**4),
    )


def step_size_range(least_strength: float) -> tuple[float, float]:
    """Between which beta must lie for step sizes beta / t: 3 / (2 gamma) and 2 / gamma."""
    if not least_strength > 0:
        raise ConfigError("no step size works: gamma is not positive; the scaling tau must be larger.")
    return 1.5 / least_strength, 2 / least_strength


def optimization_error(
    step_size: float, gradient: float, local_steps: int, steps: int, drawn: int | None = None
) -> float:
    """The bound's part that vanishes with steps; `drawn` clients of each round, or all.

    >>> optimization_error(1.0, 1.0, 1, 3), optimization_error(1.0, 1.0, 1, 3, drawn=2)
    (1.0, 2.0)
    """
    sampled = 0.0 if drawn is None else 4 * local_steps**2 / drawn
    return 2 * step_size**2 * (8 * (local_steps - 1) ** 2 + 2 + sampled) * gradient**2 / (steps + 1)


def gradient_error(
    step_size: float,
    gradient: float,
    local_steps: int,
    steps: int,
    smallest: float,
    drawn: int | None = None,
) -> float:
    """The vanishing part of the bound on the squared gradient of all clients' loss at the averaged
    hyper-parameters (Theorems 31 and 42): that of the hyper-parameters over 4 min^4.

    It holds for clients that are not alike, too (Theorem 42), and for Matern kernels (Theorem 31).

    Args:
        step_size: beta of step sizes beta / t.
        gradient: G, a bound on gradients.
        local_steps: E.
        steps: T, in all.
        smallest: min, the least value of a hyper-parameter.
        drawn: clients of each round; all when None.

    >>> gradient_error(1.0, 1.0, 1, 3, 0.5), gradient_error(1.0, 1.0, 1, 3, 1.0, drawn=2)
    (4.0, 0.5)
    """
    _check_range(1.0, smallest, smallest)
    return optimization_error(step_size, gradient, local_steps, steps, drawn) / (4 * smallest**4)


def matern_gradient_exponent(decay: float, alpha: float = 0.0) -> float:
    """The power of M that bounds what remains of the squared gradient for a Matern kernel (Theorem 31):
    (2 + alpha)(4 b + 3) / (4 b (2 b - 1)) - 1, negative only where the theory applies (for small alpha); for
    rbf it is the order of :func:`noise_floor`.

    >>> matern_gradient_exponent(2.0) < 0 < matern_gradient_exponent(1.8)
    True
    """
    if not decay > 0.5:
        raise ConfigError(f"b of a Matern kernel is above 1/2, but is {decay:g}.")
    return (2 + alpha) * (4 * decay + 3) / (4 * decay * (2 * decay - 1)) - 1


def signal_floor(batch_size: int, epsilon: float = 0.1) -> float:
    """The order (without its constant) of the squared error of signal and noise that steps cannot remove."""
    _check_batch(batch_size, epsilon)
    log = math.log(batch_size)
    return log / batch_size + log ** (epsilon - 0.5)


def noise_floor(batch_size: int, epsilon: float = 0.1) -> float:
    """The same for the noise alone; far smaller.

    >>> noise_floor(1000) < signal_floor(1000) / 5
    True
    """
    _check_batch(batch_size, epsilon)
    return math.log(batch_size) / batch_size + batch_size ** (epsilon - 0.5)


def matern_exponent(decay: float, alpha: float = 0.0) -> float:
    """The power of 1 / M that bounds the noise's error for a Matern kernel; positive only where the theory
    applies (for small alpha).

    >>> matern_exponent(2.0) > 0 > matern_exponent(1.8)
    True
    """
    top = 8 * decay**2 - 12 * decay - 6 - 3 * alpha - 4 * alpha * decay
    return top / (8 * decay**2 - 4 * decay)


def _check_range(decay: float, smallest: float, largest: float) -> None:
    if not (decay > 0 and 0 < smallest <= largest):
        raise ConfigError(
            "b must be positive, and hyper-parameters lie between two positive numbers in order."
        )


def _check_batch(batch_size: int, epsilon: float) -> None:
    if batch_size < 3 or not 0 < epsilon < 0.5:
        raise ConfigError("the floors are for at least three rows and an epsilon between 0 and 1/2.")
