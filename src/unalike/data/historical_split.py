"""Historical and fresh clients: which share of all rows do historical clients have? (The f-split.)

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), section 4.3.4: a share

    f = N_hist / N

of all rows, drawn at random, is partitioned into the M_hist historical clients, which have them from the
start; the other rows into the fresh clients, which receive them while training. Both parts are partitioned by
the same rule, with draws of their own. Historical clients are the first ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.random import generator
from ..errors import ConfigError
from ..typing import Int64s

USUAL_CLIENTS = 0.5
"""Half of the clients are historical where nothing else is said, as published for CIFAR-10 and CIFAR-100."""


class HistoricalSplit(NamedTuple):
    """Which share of rows which clients have from the start."""

    share: float
    """f, above 0 and below 1."""
    clients: float = USUAL_CLIENTS
    """How many clients are historical: a share below 1, or a number."""

    def count(self, clients: int) -> int:
        """How many of so many clients are historical, if some are and some are not."""
        kept = count_historical(self.clients, clients)
        if not 0 < kept < clients:
            raise ConfigError(
                f"historical_share = {self.share:g} needs historical and fresh clients, but {kept} of "
                f"{clients} clients are historical."
            )
        return kept

    def rows(self, total: int) -> int:
        """N_hist of so many rows."""
        return round(check_share(self.share) * total)

    def split(self, total: int, seed: int) -> tuple[Int64s, Int64s]:
        """The places of historical and of fresh rows, drawn at random, both ascending.

        >>> [len(part) for part in HistoricalSplit(0.2).split(50, seed=0)]
        [10, 40]
        """
        order = generator(seed, "historical rows").permutation(total)
        return np.sort(order[: self.rows(total)]), np.sort(order[self.rows(total) :])


def historical_split(share: float | None, clients: float | None) -> HistoricalSplit | None:
    """The split that two settings ask for; None where no share is asked for."""
    if share is None:
        return None
    return HistoricalSplit(check_share(share), USUAL_CLIENTS if clients is None else clients)


def check_share(share: float) -> float:
    """The same share, if some rows are historical and some are not."""
    if not 0 < share < 1:
        raise ConfigError(f"historical_share must be above 0 and below 1, but is {share}.")
    return float(share)


def count_historical(given: float, clients: int) -> int:
    """How many of so many clients are historical: a share of them below 1, or a number.

    >>> count_historical(0.5, 10), count_historical(3, 10)
    (5, 3)
    """
    count = round(given * clients) if given < 1 else int(given)
    if count > clients:
        raise ConfigError(f"{count} clients cannot be historical: there are {clients}.")
    return count
