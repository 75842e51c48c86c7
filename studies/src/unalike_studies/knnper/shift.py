"""Distribution shift: replacement policies, and sharing a budget of memory between clients.

Two experiments of Marfoq, Neglia, Kameni, Vidal, "Personalized Federated Learning through Local Memorization"
(2022), in which the global model is never trained again:

- *distribution shift*: a client's rows come from one law before step k0 and from another afterwards. Half of
  its first rows fill the store; the others, and then the new ones, arrive in batches, of which a policy keeps
  some;
- *unequal hardware*: half the clients remember 1/2 - d of their rows and half 1/2 + d: the total stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unalike.core.random import generator
from unalike.data.federation import Federation
from unalike.errors import ConfigError
from unalike.memorization.datastore import Datastore
from unalike.memorization.embedding import Embedded, embed_split, measure
from unalike.memorization.knn_per import Personal
from unalike.memorization.knn_voting import interpolate
from unalike.memorization.replacement_policies import Policy, policy_registry
from unalike.memorization.voting_rule import Rule
from unalike.models import Task
from unalike.typing import Float64s, PyTree


class Life(NamedTuple):
    """One client's stream: what it starts with, the batches that arrive, and its test rows at each time."""

    store: Datastore
    batches: list[Embedded]
    before: Embedded
    after: Embedded


class Drift(NamedTuple):
    """All clients' streams through one model."""

    task: Task
    lives: list[Life]
    shift_at: int


def drift(
    trained: tuple[Task, PyTree],
    before: Federation,
    after: Federation,
    *,
    steps: int = 100,
    shift_at: int = 50,
    seed: int = 0,
) -> Drift:
    """Cut both laws' rows into batches; a client's larger set of rows always comes second."""
    if not 0 < shift_at < steps or len(before) != len(after):
        raise ConfigError(
            "a drift needs the same clients twice, and a shift between the first and last step."
        )
    task, params = trained
    splits = [
        tuple(embed_split(task, params, part) for part in (fed.train, fed.test)) for fed in (before, after)
    ]
    lives = []
    for client in range(len(before)):
        laws = [(train.client(client), test.client(client)) for train, test in splits]
        first, second = sorted(laws, key=lambda law: len(law[0].keys))
        rng = generator(seed, "drift", client)
        lives.append(_life(first, second, shift_at, steps - shift_at, rng))
    return Drift(task, lives, shift_at)


def _life(
    first: tuple[Embedded, Embedded],
    second: tuple[Embedded, Embedded],
    early: int,
    late: int,
    rng: np.random.Generator,
) -> Life:
    # Rows are shuffled before they are cut: batches of one class would make the oldest rows special.
    start, rest = np.split(rng.permutation(len(first[0].keys)), [len(first[0].keys) // 2])
    new = rng.permutation(len(second[0].keys))
    batches = [first[0].take(rows) for rows in np.array_split(rest, early)]
    batches += [second[0].take(rows) for rows in np.array_split(new, late)]
    kept = first[0].take(start)
    return Life(Datastore.of(kept.keys, kept.labels), batches, first[1], second[1])


def live(
    drifting: Drift,
    policy: str,
    *,
    share: float = 0.5,
    rule: Rule = Rule(),
    evaluate_at: Sequence[int] | None = None,
) -> Float64s:
    """The accuracy over all clients' test rows after each step's batch; NaN where it is not asked for."""
    steps = len(drifting.lives[0].batches)
    wanted = set(range(steps) if evaluate_at is None else evaluate_at)
    stores = [life.store for life in drifting.lives]
    update: Policy = policy_registry.make(policy)
    curve = np.full(steps, np.nan)
    for step in range(steps):
        arrived = [life.batches[step] for life in drifting.lives]
        stores = [
            update(store, rows.keys, rows.labels, step + 1)
            for store, rows in zip(stores, arrived, strict=True)
        ]
        if step in wanted:
            tests = [life.before if step < drifting.shift_at else life.after for life in drifting.lives]
            curve[step] = _accuracy(drifting.task, stores, tests, share, rule)
    return curve


def _accuracy(
    task: Task, stores: Sequence[Datastore], tests: Sequence[Embedded], share: float, rule: Rule
) -> float:
    said = []
    for store, test in zip(stores, tests, strict=True):
        if len(store) and len(test.keys):
            near = rule.ask(task, store.keys, store.labels, test.keys, test.common)
            said.append(interpolate(share, near, test.common))
        else:
            said.append(test.common)
    offsets = np.cumsum([0, *(len(test.keys) for test in tests)])
    labels = np.concatenate([test.labels for test in tests])
    everyone = Embedded(np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32), labels, offsets)
    return overall(measure(task, np.concatenate(said), everyone))


def overall(measured: dict[str, Float64s], name: str = "accuracy") -> float:
    """The mean of a metric over all rows."""
    there = measured["samples"] > 0
    return float(np.average(measured[name][there], weights=measured["samples"][there]))


def unequal_capacities(clients: int, gap: float, seed: int = 0) -> Float64s:
    """Half the clients, drawn at random, with capacity 1/2 - gap, and the others with 1/2 + gap.

    >>> sorted(unequal_capacities(4, 0.3).tolist())
    [0.2, 0.2, 0.8, 0.8]
    """
    if not 0 <= gap <= 0.5:
        raise ConfigError(f"the gap between capacities must be from 0 to 0.5, but is {gap}.")
    weak = generator(seed, "hardware").permutation(clients) < clients // 2
    return np.where(weak, 0.5 - gap, 0.5 + gap)


def unequal_hardware(
    memory: Personal, gaps: Sequence[float], seeds: Sequence[int] = (0,), choose: str | float = "loo"
) -> Float64s:
    """The accuracy over all clients' test rows for each gap between weak and strong clients' capacities."""

    def one(gap: float, seed: int) -> float:
        capacities = unequal_capacities(len(memory.stores), gap, seed)
        return overall(memory.with_capacity(capacities, seed).tune(choose, seed=seed).evaluate())

    return np.array([np.mean([one(gap, seed) for seed in seeds]) for gap in gaps])
