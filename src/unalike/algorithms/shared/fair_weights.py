"""Fair weights of clients and groups: rank scores and multipliers.

Groups i = 1 ... d have mean losses L_i. A client k of importance p_k, in a group s_k of |A| clients, counts

    1 + lam r_k / (p_k |A|)        r_k = (groups of smaller loss) - (groups of larger loss)

times as much as usual. Then the weighted losses add up to sum_k p_k F_k + lam sum_{i<j} |L_i - L_j| (Yue,
Nouiehed, Al Kontar, GIFAIR-FL: A Framework for Group and Individual Fairness in Federated Learning, 2022).
All counts stay positive below

    lam_max = min_k p_k |A| / (d - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ...data.federation import Federation
from ...data.groups import group_numbers
from ...errors import ConfigError
from ...typing import Float64s, Int64s


@dataclass(frozen=True)
class ClientGroups:
    """Who belongs to which group, and how much everyone counts; hashable, for it is part of a method."""

    group: tuple[int, ...]
    importance: tuple[float, ...]
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of groups, d."""
        return len(self.names)

    @property
    def sizes(self) -> Int64s:
        """How many clients of each group count."""
        return np.bincount(self._numbers, np.asarray(self.importance) > 0, self.count).astype(np.int64)

    @property
    def shares(self) -> Float64s:
        """p_k |A| of every client: its group's share of everything, were all of the group like it."""
        return np.asarray(self.importance) * self.sizes[self._numbers]

    @property
    def totals(self) -> Float64s:
        """What the clients of each group count together."""
        return np.bincount(self._numbers, np.asarray(self.importance), self.count).astype(np.float64)

    @property
    def _numbers(self) -> Int64s:
        return np.asarray(self.group, np.int64)

    def mean_losses(self, losses: jax.Array) -> jax.Array:
        """The mean loss of each group's clients, of which none counts more than another.

        Differences are averaged, so that equal losses have equal means, which are not ranked by rounding.
        """
        counted = jnp.asarray(np.asarray(self.importance) > 0, jnp.float32)
        sums = sum_by_group(counted * (losses - losses[0]), self._numbers, self.count)
        return losses[0] + sums / jnp.maximum(jnp.asarray(self.sizes, jnp.float32), 1.0)

    def largest_lambda(self) -> float:
        """lam_max; infinite where there is one group alone.

        >>> two = ClientGroups((0, 1, 1), (0.5, 0.25, 0.25), ("a", "b"))
        >>> two.largest_lambda()
        0.5
        """
        shares = self.shares[np.asarray(self.importance) > 0]
        return math.inf if self.count < 2 else float(shares.min()) / (self.count - 1)

    def multipliers(self, losses: jax.Array, lam: float) -> jax.Array:
        """How many times as much as usual each client counts, from the last known loss of every client."""
        scores = rank_scores(self.mean_losses(losses))[self._numbers]
        shares = self.shares
        return 1.0 + scores * jnp.asarray(np.where(shares > 0, lam / np.where(shares > 0, shares, 1.0), 0.0))


NEARLY_ALL, NEARLY_NOTHING = 0.95, 0.05
"""Of a client's usual steps: what lam may take from the best and must add to the worst without a warning."""
FEW = 500
"""Clients that are compared with each other pair by pair, which takes less time than to sort so few."""
NOBODY = ClientGroups((), (), ())
"""Before a method is made ready for its clients."""


def sum_by_group(values: jax.Array, numbers: Int64s, groups: int) -> jax.Array:
    """The sum of each group's values."""
    if groups * len(numbers) > FEW**2:
        return jnp.zeros(groups).at[numbers].add(values)
    member = np.arange(groups)[:, None] == np.asarray(numbers)[None, :]
    return jnp.asarray(member, values.dtype) @ values


def rank_scores(losses: jax.Array) -> jax.Array:
    """How many others have a smaller loss, less how many have a larger one.

    >>> rank_scores(jnp.array([1.0, 1.0, 0.5])).tolist()
    [1.0, 1.0, -2.0]
    """
    if losses.shape[0] <= FEW:
        smaller, larger = ((losses[None, :] < losses[:, None]), (losses[None, :] > losses[:, None]))
        return (smaller.sum(1) - larger.sum(1)).astype(jnp.float32)
    ordered = jnp.sort(losses)
    smaller = jnp.searchsorted(ordered, losses, side="left")
    not_larger = jnp.searchsorted(ordered, losses, side="right")
    return (smaller + not_larger - losses.shape[0]).astype(jnp.float32)


def client_groups(federation: Federation, individual: bool = False) -> ClientGroups:
    """The groups of a federation; every client is a group of its own where it has none, or if asked for."""
    importance = tuple(float(p) for p in federation.importance)
    counted = [i for i, p in enumerate(importance) if p > 0]
    if individual or federation.groups is None:
        place = {client: number for number, client in enumerate(counted)}
        names = tuple(federation.name(i) for i in counted)
        return ClientGroups(tuple(place.get(i, 0) for i in range(len(importance))), importance, names)
    names, numbers = group_numbers(federation.groups)
    empty = [names[g] for g in range(len(names)) if g not in set(numbers[counted].tolist())]
    if empty:
        raise ConfigError(f"no client of the group {empty[0]!r} counts; give it training rows or importance.")
    if len(names) == 1 and len(importance) > 1:
        raise ConfigError(
            f"all clients are in one group ({names[0]!r}), so that no group can be behind another; give at "
            "least two groups, or none to treat every client for itself."
        )
    return ClientGroups(tuple(int(g) for g in numbers), importance, names)


def choose_lambda(groups: ClientGroups, rho: float, lam: float | None) -> float:
    """lam as it is given, checked, or the share `rho` of its maximum."""
    largest = groups.largest_lambda()
    if lam is None:
        return 0.0 if math.isinf(largest) else rho * largest
    if not 0 <= lam < largest:
        raise ConfigError(
            f"lam must be at least 0 and below {largest:.6g} for these clients, but is {lam:g}; beyond that "
            "some client's loss would be increased. rho is lam as a share of that maximum."
        )
    return lam


def pressure_caveats(groups: ClientGroups, lam: float) -> list[str]:
    """What is worth knowing of lam before training: groups that stand still, and groups it does not reach.

    >>> uneven = ClientGroups((0, 1), (0.01, 0.99), ("small", "large"))
    >>> pressure_caveats(uneven, 0.5 * uneven.largest_lambda())[0][:51]
    "clients of the group 'large' count at most 1.01 tim"
    """
    counted = np.asarray(groups.importance) > 0
    if groups.count < 2 or not lam or not counted.any():
        return []
    reach = lam * (groups.count - 1) / np.where(counted, groups.shares, np.nan)
    least, most = float(np.nanmin(reach)), float(np.nanmax(reach))
    found = []
    if most > NEARLY_ALL:
        found.append(
            f"with {most:.2g} of the largest lam, clients take {1 - most:.2g} of their usual steps while "
            "their group is the best; a rho of at most 0.95 keeps them moving."
        )
    if least < NEARLY_NOTHING < most:
        name = groups.names[groups.group[int(np.nanargmin(reach))]]
        found.append(
            f"clients of the group {name!r} count at most {1 + least:.3g} times as much as usual, because "
            "the smallest group limits lam; let all clients count the same (importance = equal) to reach it."
        )
    return found
