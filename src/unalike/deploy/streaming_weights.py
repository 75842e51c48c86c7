"""Memory-size weights of streaming nodes.

A node tells at its introduction for how many rows it has room, C_m, and the server weighs it by that. With
every upload it says which part of them it holds, W_m(t) / C_m. The step's weights w_m become

    w_m(t) = w_m (W_m(t) / C_m)  sum_k w_k / sum_k w_k (W_k(t) / C_k)        over the step's clients,

so that with everyone w_m(t) is W_m(t) / sum_k W_k(t) (Marfoq, Neglia, Kameni and Vidal, "Federated Learning
for Data Streams", 2023), and the server's step is as long as without streams.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..typing import Array, Float64s
from .transport.messages import MessageError

NAME = "weight/value"
"""The array of an upload that says what the client weighs."""


def read_weight(arrays: Mapping[str, Array]) -> Array:
    """What a streaming node sent, if it can be: a number above 0 and at most 1.

    >>> float(read_weight({"weight/value": np.float32(0.5)}))
    0.5
    """
    weight = arrays.get(NAME)
    if weight is None or weight.shape != () or weight.dtype != np.float32:
        raise MessageError("a node whose rows come and go did not say which part of them it holds.")
    if not 0 < float(weight) <= 1:
        raise MessageError(f"a node holds between none and all of its rows, not {float(weight):g} of them.")
    return weight


def with_same_sum(weights: Float64s, asked: Float64s) -> Float64s:
    """Weights in the same proportion, which sum to what the step asked for.

    >>> with_same_sum(np.array([0.5, 0.1]), np.array([0.5, 0.5])).round(3).tolist()
    [0.833, 0.167]
    """
    total = weights.sum()
    return weights * (asked.sum() / total) if total > 0 else weights
