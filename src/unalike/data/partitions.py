"""Non-IID partitions of one data set.

Every partition takes the labels of all rows and returns the row numbers of each client. A row is used at
most once, every client gets at least one, and all of them end after a bounded amount of work: none draws
again until it is lucky.

- `dirichlet`: Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated
  Visual Classification", 2019: client i has label
  proportions q_i ~ Dirichlet(alpha C p), where p are those of all rows together: Dirichlet(alpha, ..., alpha)
  when the C classes are equally frequent, and iid clients for a large alpha whether they are or not.
- `dirichlet-class`: Yurochkin et al., "Bayesian Nonparametric Federated Learning of Neural Networks", 2019:
  it is each class that is spread over the clients, so sizes differ too.
- `dirichlet-groups`: Marfoq et al., "Federated Multi-Task Learning under a Mixture of Distributions", 2021.
- `shards`: McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
  2017.
- `pachinko`: Reddi et al., "Adaptive Federated Optimization", 2021.
- `imbalance`: Buttaci, "Does Perturbation Aid Convergence?" (see `imbalance.py`).
"""

from __future__ import annotations

import numpy as np

from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Array, Int64s
from .allocation import (
    balanced_choice,
    draw_with_replacement,
    fair_rounding,
    group_rows,
    index_labels,
    multinomial,
    nobody_empty,
    proportions,
    rows_by_class,
    split_rows,
    spread,
    take_in_turn,
)
from .imbalance import deal_by_imbalance
from .sizes import Sizes, allot, check_clients, draw_sizes, whole

Labels = Array
Rows = list[Int64s]
Rng = np.random.Generator

partition_registry: Registry[Rows] = Registry("partition", "partitions")


@partition_registry.add("iid")
def iid(*, labels: Labels, clients: int, rng: Rng, sizes: Sizes = None) -> Rows:
    """Everyone alike: rows dealt at random, equal or given sizes."""
    counts = draw_sizes(sizes, len(labels), clients, rng)
    return split_rows(rng.permutation(len(labels)), counts)


@partition_registry.add("dirichlet")
def dirichlet(
    alpha: float = 0.3,
    *,
    labels: Labels,
    clients: int,
    rng: Rng,
    sizes: Sizes = None,
    replacement: bool = False,
) -> Rows:
    """Label proportions of every client from a Dirichlet law; `dirichlet:0.1` is very unlike, 100 nearly iid.

    Clients choose one after the other, in random order; a class that has run out is replaced by the
    client's other classes in proportion. With `replacement`, clients may share rows and everyone gets just
    what was drawn. `dirichlet:0` gives everyone one class, in turn.

    >>> rows = dirichlet(0.1, labels=np.arange(60) % 3, clients=4, rng=np.random.default_rng(0))
    >>> [len(mine) for mine in rows]
    [15, 15, 15, 15]
    """
    _, y = index_labels(labels)
    counts = draw_sizes(sizes, len(y), clients, rng, spare=not replacement)
    pools = [rng.permutation(rows) for rows in rows_by_class(y)]
    shares = proportions(alpha, clients, len(pools), rng, np.bincount(y) / len(y))
    if replacement:
        return [draw_with_replacement(pools, shares[i], int(counts[i]), rng) for i in range(clients)]
    # Rounding that always favors the same classes would leave the others' rows to the last clients.
    rounding = fair_rounding(rng)
    return take_in_turn(
        pools, rng.permutation(clients), lambda i, room: allot(int(counts[i]), shares[i], room, rounding)
    )


@partition_registry.add("dirichlet-class")
def dirichlet_class(alpha: float = 0.3, *, labels: Labels, clients: int, rng: Rng) -> Rows:
    """Each class spread over the clients by a Dirichlet law, so sizes differ as well."""
    _, y = index_labels(labels)
    check_clients(len(y), clients)
    return spread(y, alpha, clients, rng)


@partition_registry.add("dirichlet-groups")
def dirichlet_groups(alpha: float = 0.4, groups: int = 3, *, labels: Labels, clients: int, rng: Rng) -> Rows:
    """Labels cut at random into groups, each spread by a Dirichlet law: a mixture by construction."""
    classes, y = index_labels(labels)
    check_clients(len(y), clients)
    if whole(groups, "the number of label groups") > len(classes):
        raise ConfigError(f"{groups} label groups is not possible; there are {len(classes)} classes.")
    group_of_class = np.empty(len(classes), np.int64)
    for group, members in enumerate(np.array_split(rng.permutation(len(classes)), groups)):
        group_of_class[members] = group
    return spread(group_of_class[y], alpha, clients, rng)


@partition_registry.add("classes")
def classes_per_client(per_client: int = 2, *, labels: Labels, clients: int, rng: Rng) -> Rows:
    """Every client has rows of a few classes only; `classes:1` is one class each."""
    classes, y = index_labels(labels)
    check_clients(len(y), clients)
    if whole(per_client, "the number of classes per client") > len(classes):
        raise ConfigError(
            f"{per_client} classes per client is not possible; there are {len(classes)} classes."
        )
    holds = balanced_choice(clients, len(classes), per_client, rng)
    owners = np.full(len(y), -1)
    for label, rows in enumerate(rows_by_class(y)):
        holders = rng.permutation(np.flatnonzero(holds[:, label]))
        if len(holders):
            # Dealt like cards: holders' numbers of rows differ by at most one.
            owners[rng.permutation(rows)] = holders[np.arange(len(rows)) % len(holders)]
    return group_rows(nobody_empty(owners, clients, rng), clients)


@partition_registry.add("shards")
def shards(per_client: int = 2, *, labels: Labels, clients: int, rng: Rng) -> Rows:
    """Rows sorted by label and cut into equal shards, a few random shards for every client."""
    _, y = index_labels(labels)
    check_clients(len(y), clients)
    total = clients * whole(per_client, "the number of shards per client")
    if total > len(y):
        raise ConfigError(
            f"{total} shards cannot be cut from {len(y)} rows; ask for fewer clients or shards."
        )
    shuffled = rng.permutation(len(y))
    pieces = np.array_split(shuffled[np.argsort(y[shuffled], kind="stable")], total)
    dealt = rng.permutation(total).reshape(clients, per_client)
    return [np.concatenate([pieces[k] for k in mine]) for mine in dealt]


@partition_registry.add("pachinko")
def pachinko(
    alpha: float = 0.4,
    beta: float = 10.0,
    *,
    labels: Labels,
    clients: int,
    rng: Rng,
    coarse: Labels | None = None,
    sizes: Sizes = None,
) -> Rows:
    """Two-level labels: Dirichlet(alpha) over coarse ones, Dirichlet(beta) over the fine ones in each.

    Rows are drawn without replacement; a fine label that has run out leaves its coarse label's others, a
    coarse label that has run out leaves the other coarse ones. Drawing all of a client's rows at once and
    asking again for those that a full label refused has the same law as drawing them one by one.
    """
    if coarse is None:
        raise ConfigError("partition 'pachinko' needs coarse labels; use data that has them, or 'dirichlet'.")
    _, y = index_labels(labels)
    counts = draw_sizes(sizes, len(y), clients, rng)
    pools = [rng.permutation(rows) for rows in rows_by_class(y)]
    parents = np.unique(coarse, return_inverse=True)[1].ravel()
    parent_of = np.array([parents[pool[0]] for pool in pools])
    families = [np.flatnonzero(parent_of == parent) for parent in range(parents.max() + 1)]

    def choose(i: int, room: Int64s) -> Int64s:
        upper = proportions(alpha, 1, len(families), rng)[0]
        wanted = allot(int(counts[i]), upper, np.array([room[f].sum() for f in families]), multinomial(rng))
        fine = np.zeros_like(room)
        for family, total in zip(families, wanted, strict=True):
            lower = proportions(beta, 1, len(family), rng)[0]
            fine[family] = allot(int(total), lower, room[family], multinomial(rng))
        return fine

    return take_in_turn(pools, rng.permutation(clients), choose)


@partition_registry.add("imbalance")
def imbalance(
    class_imbalance: float = 1.0,
    data_imbalance: float = 0.0,
    mode: str = "all-rows",
    *,
    labels: Labels,
    clients: int,
    rng: Rng,
) -> Rows:
    """Two knobs: `imbalance:10,1` has unlike labels and unlike sizes, `imbalance:0,0` neither.

    The first is one over a Dirichlet parameter, the second the variance of the logarithm of sizes. Clients
    that would be empty are left out, so there may be fewer. `imbalance:10,1,strict` keeps to the drawn
    proportions exactly: there are clients until a class runs out, and the other rows are left out.
    """
    if mode not in ("all-rows", "strict"):
        raise ConfigError(f"imbalance deals all-rows, or is strict, but not {mode!r}.")
    return deal_by_imbalance(labels, clients, class_imbalance, data_imbalance, rng, mode == "strict")


@partition_registry.add("lognormal")
def lognormal(sigma: float = 1.0, *, labels: Labels, clients: int, rng: Rng) -> Rows:
    """Everyone has the same kind of rows but log-normally different numbers of them."""
    return iid(labels=labels, clients=clients, rng=rng, sizes=f"lognormal:{sigma}")


@partition_registry.add("powerlaw")
def powerlaw(exponent: float = 2.0, *, labels: Labels, clients: int, rng: Rng) -> Rows:
    """Everyone has the same kind of rows but numbers of them that follow a power law."""
    return iid(labels=labels, clients=clients, rng=rng, sizes=f"powerlaw:{exponent}")


@partition_registry.add("natural")
def natural(*, labels: Labels, owners: Labels | None = None) -> Rows:
    """The data set's own clients: hospitals, speaking roles, writers."""
    if owners is None:
        raise ConfigError(
            "partition 'natural' needs data with clients of its own; use 'iid' or 'dirichlet' here."
        )
    who = np.unique(owners, return_inverse=True)[1].ravel()
    return group_rows(who, int(who.max()) + 1)
