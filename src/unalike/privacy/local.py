"""Local differential privacy, chosen by a node.

    upload  =  message + clipped change + Gaussian noise of deviation S sqrt(2 log(1.25 / delta)) / epsilon

Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014, theorem A.1. Two uploads of one
client can differ by twice the clipping norm, which is the sensitivity S unless another is given. Clipping and
noise are Flower's own functions. Reports beside the upload are not sent. Epsilon is that of one round, and
that of a run grows with the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError
from ..typing import Array
from .accountant import gaussian_delta
from .central import numbers
from .clipping import clip_arrays, fresh_noise


@dataclass(frozen=True)
class LocalPrivacy:
    """What a node does to its uploads; `sensitivity` is twice the clipping norm when not given."""

    clip: float
    epsilon: float
    delta: float
    sensitivity: float | None = None
    noise: float | None = None
    """The noise multiplier, deviation over sensitivity, where a budget of a whole run has chosen it; epsilon
    is then what it costs in one round, by the exact curve."""
    entropy: Callable[[], int | None] = lambda: None
    """Where each draw of noise starts; None is the system's entropy."""

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise ConfigError(f"the clipping norm of local privacy must be above 0, but is {self.clip:g}.")
        if not 0 < self.epsilon < math.inf or not 0 < self.delta < 1:
            raise ConfigError(
                "local privacy needs an epsilon above 0 and a delta between 0 and 1, "
                f"but they are {self.epsilon:g} and {self.delta:g}."
            )
        if self.sensitivity is not None and not 0 < self.sensitivity < math.inf:
            raise ConfigError(f"the sensitivity must be above 0, but is {self.sensitivity:g}.")
        if self.noise is not None and not 0 < self.noise < math.inf:
            raise ConfigError(f"the noise of local privacy must be above 0, but is {self.noise:g}.")
        if self.noise is None and upload_delta(self.epsilon, self.multiplier) > self.delta:
            raise ConfigError(
                f"the noise for epsilon {self.epsilon:g} would not keep delta {self.delta:g}; "
                "choose a smaller epsilon (the formula is proven up to 1)."
            )

    @property
    def deviation(self) -> float:
        """The noise's standard deviation."""
        reach = 2 * self.clip if self.sensitivity is None else self.sensitivity
        return reach * self.multiplier

    @property
    def multiplier(self) -> float:
        """The deviation over the sensitivity."""
        return _multiplier(self.epsilon, self.delta) if self.noise is None else self.noise

    def protected(self, upload: dict[str, Array], message: dict[str, Array]) -> dict[str, Array]:
        """The upload as it may leave the node."""
        from flwr.supercore.differential_privacy import add_gaussian_noise_inplace

        arrays = clip_arrays(upload, message, self.clip)
        with fresh_noise(self.entropy()):
            add_gaussian_noise_inplace(list(arrays.values()), self.deviation)
        return arrays


def local_privacy(words: str) -> LocalPrivacy:
    """From the words CLIP,EPSILON,DELTA.

    >>> local_privacy("1,0.5,1e-5").deviation  # doctest: +ELLIPSIS
    19.379...
    """
    clip, epsilon, delta = numbers(words, (3,), "CLIP,EPSILON,DELTA, such as 1,0.5,1e-5")
    return LocalPrivacy(clip, epsilon, delta)


def upload_delta(epsilon: float, multiplier: float) -> float:
    """The exact delta of Gaussian noise of `multiplier` times the sensitivity (Balle and Wang, 2018).

    >>> f"{upload_delta(1.0, 1.0):.4f}"
    '0.1269'
    """
    return gaussian_delta(epsilon, 1 / multiplier)


def _multiplier(epsilon: float, delta: float) -> float:
    return float(np.sqrt(2 * np.log(1.25 / delta)) / epsilon)
