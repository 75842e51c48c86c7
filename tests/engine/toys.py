"""Small federations and toy algorithms whose every number can be worked out by hand."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from unalike.algorithms import Algorithm, LocalWork, Messages, Reply
from unalike.data import Federation, Split
from unalike.engine import Memories, Setting, reply_template
from unalike.models import Task, linear
from unalike.timing import Step

WORK = LocalWork(steps=0, batch_size=4)


def split(sizes, features=3, classes=3, seed=0):
    """Random rows for clients of these sizes."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x = rng.normal(size=(offsets[-1], features)).astype(np.float32)
    return Split(x, rng.integers(0, classes, offsets[-1]).astype(np.int32), offsets)


def federation(train, test=None, names=None, **options):
    """Clients with these numbers of training and test rows."""
    test = [0] * len(train) if test is None else test
    parts = (split(train, seed=1, **options), split([0] * len(train), **options))
    return Federation(*parts, split(test, seed=2, **options), 3, names)


@cache
def logistic_task():
    """Logistic regression with three classes; one object, so programs are compiled once for all tests."""
    return Task.classification(linear(input_shape=(3,), outputs=3), classes=3)


@dataclass(frozen=True, kw_only=True)
class Toy(Algorithm):
    """A client adds the mean of its first feature to what it hears and counts its visits.

    Its upload is NaN in the round that its second feature names. The state keeps what the server was told.
    """

    work: LocalWork = WORK
    first_count: float = 10.0
    name: ClassVar[str] = "toy"

    def init(self, task, key):
        told = {"total": jnp.zeros(2), "start": jnp.zeros(2)}
        numbers = {name: jnp.zeros(()) for name in ("weight", "count", "share", "round")}
        return {"params": jnp.arange(2.0), "told": {**told, **numbers}}

    def init_client(self, task, message, key):
        return {"count": jnp.full(2, self.first_count)}

    def client(self, task, message, memory, data, key):
        rows = data.all_rows()
        value = jnp.sum(rows.weight * rows.x[:, 0]) / jnp.maximum(rows.size, 1.0)
        bad = data.round == rows.x[0, 1].astype(jnp.int32)
        upload = jnp.where(bad, jnp.nan, message + value)
        return Reply(upload, {"count": memory["count"] + 1.0}, {"value": value})

    def aggregate(self, task, state, mixed):
        told = {
            "total": mixed.total,
            "start": mixed.start,
            "weight": mixed.weight,
            "count": 1.0 * mixed.accepted,
            "share": mixed.share,
            "round": jnp.asarray(mixed.round, jnp.float32),
        }
        return {"params": state["params"] + mixed.total - mixed.start, "told": told}


def toy_federation(train, bad_rounds=None):
    """Clients for :class:`Toy`; `bad_rounds[i]` is the round in which client i sends NaN (-1: never)."""
    made = federation(train)
    bad = np.full(len(train), -1) if bad_rounds is None else np.asarray(bad_rounds)
    made.train.x[:, 1] = np.repeat(bad, train)
    return made


def values_of(federation) -> NDArray[np.float64]:
    """What :class:`Toy`'s clients add."""
    return np.array([federation.train.client(i)[0][:, 0].mean() for i in range(len(federation))])


def start(setting):
    """State, memories and the first message of a run."""
    state = setting.algorithm.init(setting.task, jax.random.key(0))
    messages = setting.algorithm.messages(setting.task, state)
    memory = reply_template(setting, messages.of(0)).memory
    return state, Memories(memory, len(setting.federation)), messages.tree


def step(number, clients, weights, versions=None):
    """One aggregation; everyone starts from the newest version when no versions are given."""
    clients = np.asarray(clients)
    versions = np.full(len(clients), number) if versions is None else np.asarray(versions)
    return Step(number, clients, versions, np.asarray(weights, np.float64))


def told(setting: Setting, states, one):
    """What a step's clients were sent."""
    sent = [setting.algorithm.messages(setting.task, states[v]) for v in one.versions]
    if len(set(one.versions.tolist())) == 1:
        return sent[0].select(one.clients)
    each = [messages.of(client) for messages, client in zip(sent, one.clients, strict=True)]
    rows = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *each)
    return Messages(rows, np.arange(len(each)))


def advance(engine, setting: Setting, steps, state, memories):
    """Run steps one after the other, as the training loop does; the states and reports of all of them."""
    states, reports = [state], []
    for one in steps:
        outcome = engine.run_step(one, states[-1], told(setting, states, one), memories)
        states.append(jax.tree.map(np.asarray, outcome.state))
        reports.append({name: np.asarray(values) for name, values in outcome.reports[0].items()})
    return states, reports
