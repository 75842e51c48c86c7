"""Choosing some of the clients: a number, a share, or their names.

5             the last five clients
0.2           the last fifth of the clients, rounded to the nearest number
anna,berta    the clients of these names (clients without names are called by their numbers; a single
              one is written with a comma, `3,`)
"""

from __future__ import annotations

import numpy as np

from ..core.spec import number_or_word
from ..errors import ConfigError, unknown
from ..typing import ClientIds
from .federation import Federation


def choose_clients(words: str, federation: Federation, adjective: str) -> ClientIds:
    """The numbers of the clients that the words mean, in rising order.

    Args:
        words: a number, a share or names.
        federation: the clients.
        adjective: what chosen clients are called in messages, such as `dishonest`.

    >>> from unalike.testing import example_federation
    >>> five = example_federation(5)
    >>> [choose_clients(words, five, "odd").tolist() for words in ("2", "0.4", "client 1,client 0")]
    [[3, 4], [3, 4], [0, 1]]
    """
    clients, given = len(federation), number_or_word(words.strip())
    if isinstance(given, str):
        return _by_name(words, federation, adjective)
    if isinstance(given, float):
        if not 0 <= given <= 1:
            raise ConfigError(f"a share of {adjective} clients must lie between 0 and 1, but is {given:g}.")
        given = round(given * clients)
    if not 0 <= given <= clients:
        raise ConfigError(f"cannot make {given} clients {adjective}: there are only {clients}.")
    return np.arange(clients - given, clients)


def _by_name(words: str, federation: Federation, adjective: str) -> ClientIds:
    numbers = {federation.name(i): i for i in range(len(federation))}
    names = [name.strip() for name in words.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"{adjective} needs a number of clients, a share of them, or their names.")
    for name in names:
        if name not in numbers:
            raise unknown("client", name, list(numbers)[:20])
    return np.unique([numbers[name] for name in names])
