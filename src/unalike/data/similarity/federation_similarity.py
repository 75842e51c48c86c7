"""Measuring the similarity of a federation's clients by their features.

One message per client, as E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di
Torino), chapter 3, has it, their graph, and the same of shuffled rows to compare with. All pairs are compared
up to a thousand clients; of more, a random thousand stand for all. A client's importance by likeness is

    p_i = d_i / sum_j d_j,     d = A 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Float64s, Int64s
from ..federation import Federation
from .caveats import client_caveats, never_negative, privacy_cost
from .homogeneity import shuffled_weights
from .principal_direction import client_messages, signs_by_chance
from .private_messages import message_privacy_registry
from .similarity_graph import Similarity, similarity_of
from .sparse_graph import FULL

MOST_COMPARED = 1000
"""Clients of which all pairs are compared."""
MOST_GROUPED = 4000
"""Clients that are put into groups."""


def measure_similarity(
    federation: Federation,
    *,
    raw_sign: bool = False,
    privacy: str | None = None,
    repeats: int = 1,
    seed: int = 0,
    most: int = MOST_COMPARED,
    graph: str = FULL,
) -> Similarity:
    """The similarity of clients by the directions of their training rows.

    Args:
        federation: The clients.
        raw_sign: Leave the signs of directions as they are found.
        privacy: How messages are blurred before they leave, such as `projection:16`.
        repeats: Shuffles of which the reference is the mean.
        seed: Same seed, same shuffles, noise and compared clients.
        most: Clients of which all pairs are compared.
        graph: Which pairs are joined: `full`, `knn:K` (nearest neighbors) or `epsilon:E` (misaligned by at
            most E). It matters to the spectrum, groups and importance; homogeneity is of all pairs.

    >>> x = np.random.default_rng(0).random((40, 5))
    >>> halves = Federation.from_owners(x, np.zeros(40, int), np.arange(40) % 2)
    >>> round(measure_similarity(halves, repeats=200).ratio, 0)
    1.0
    """
    clients, messages = client_messages(federation.train, raw_sign)
    compared = clients
    if len(clients) > most:
        compared = np.sort(generator(seed, "compared clients").choice(clients, most, replace=False))
    blur = None if privacy is None else _blur(privacy, seed)
    plain, messages = messages, messages if blur is None else blur(messages)
    again = range(repeats if len(compared) > 1 else 0)
    positive = never_negative(federation)
    unsure = 0 if positive else signs_by_chance(federation.train, clients, plain)
    caveats = client_caveats(federation, clients, privacy, unsure)
    if privacy is not None:
        caveats += privacy_cost(plain, messages, np.searchsorted(clients, compared), privacy)
    found = similarity_of(
        messages,
        clients=clients,
        compared=compared,
        population=len(federation),
        shuffled=tuple(shuffled_weights(federation.train, seed, k, compared, blur) for k in again),
        warnings=tuple(caveats),
        sign_alarm=privacy is None and positive,
        graph=graph,
    )
    return replace(found, unsure_signs=unsure)


def _blur(privacy: str, seed: int) -> Callable[[Float64s], Float64s]:
    """What hides a part of messages; a frame is the same whenever it is called."""
    protect = message_privacy_registry.make(privacy)
    return lambda messages: protect(messages, generator(seed, "message privacy"))


def likeness_importance(federation: Federation) -> Float64s:
    """What clients count by their likeness to all others: p_i = d_i / sum_j d_j.

    >>> x = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> likeness_importance(Federation.from_owners(x, np.zeros(3, int), np.arange(3))).round(2)
    array([0.44, 0.45, 0.1 ])
    """
    return measure_similarity(federation, repeats=0).importance


def client_groups(federation: Federation, count: int) -> Int64s:
    """The group of every client by spectral clustering of all; who has no direction is in the first.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> client_groups(Federation.from_owners(x, np.zeros(4, int), np.arange(4)), 2)
    array([0, 1, 0, 1])
    """
    if len(federation) > MOST_GROUPED:
        raise ConfigError(
            f"groups by similarity compare all clients, at most {MOST_GROUPED:,}, but there are "
            f"{len(federation):,}."
        )
    found = measure_similarity(federation, repeats=0, most=MOST_GROUPED)
    groups = np.zeros(len(federation), np.int64)
    groups[found.compared] = found.groups(count)
    return groups
