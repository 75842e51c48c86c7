"""Does it matter that clients work in one place and the server is in another?"""

import jax
import numpy as np
import pytest

import unalike
from unalike.algorithms import LocalWork, Optimizer, algorithm_registry
from unalike.core.pytrees import largest_difference
from unalike.engine import Setting, reply_template
from unalike.engine.distributed import Distributed, join
from unalike.engine.shards import Shard, partition_clients, parts_of, shard_setting
from unalike.timing import Asynchronous
from unalike.topology import Gossip

from . import toys

SIZES = [3, 6, 2, 4, 5, 3]
WORK = LocalWork(steps=2, batch_size=2)


class Halves(Distributed):
    """Two shards in this process: all that is distributed but the distance."""

    def __init__(self, setting, shards=2):
        self.setting = setting
        self.clients = partition_clients(setting.algorithm.work, setting.federation.train.sizes, shards)
        self.owner = np.zeros(len(setting.federation), np.int64)
        for k, clients in enumerate(self.clients):
            self.owner[clients] = k

    def memories(self, template, clients):
        self.shards = [Shard(shard_setting(self.setting, c), template) for c in self.clients]
        return super().memories(template, clients)

    def visit(self, step, messages, memories, keep):
        parts = parts_of(step, messages, self.owner)
        done = [self.shards[k].visit(part.step, part.messages, keep) for k, part in parts.items()]
        return join(done, [part.places for part in parts.values()])

    def evaluate(self, messages, memories, split, round, clients=None):
        chosen = np.arange(len(self.owner)) if clients is None else clients
        answers = {}
        for k, shard in enumerate(self.shards):
            told = messages.select(self.clients[k]).alone()
            here = np.flatnonzero(self.owner[chosen] == k)
            for name, values in shard.evaluate(told, split, round, chosen[here]).items():
                answers.setdefault(name, np.full(len(chosen), np.nan))[here] = values
        return answers


@pytest.fixture(scope="module")
def federation():
    return toys.federation(SIZES, [2] * 6)


def method(name, **options):
    return algorithm_registry.make(name, work=WORK, optimizer=Optimizer("sgd", 0.2), **options)


def both(federation, algorithm, **options):
    task = toys.logistic_task()
    made = Setting(federation, task, algorithm.prepare(task, federation), 3)
    train = lambda engine: unalike.train(  # noqa: E731
        federation, task, algorithm, rounds=4, seed=3, engine=engine, **options
    )
    return train("local"), train(Halves(made))


CASES = {
    "fedavg": {},
    "scaffold": {"per_round": 3},
    "fedem": {},
    "clustered-fl": {},
    "dpasgd": {"timing": Gossip("ring")},
}


@pytest.mark.parametrize("name", CASES)
def test_two_shards_and_a_server_are_one_machine(federation, name):
    here, there = both(federation, method(name), **CASES[name])
    assert largest_difference(here.state, there.state) < 1e-6
    ours, theirs = here.metrics(), there.metrics()
    for column in ("test_accuracy", "participants", "bytes_up", "train_loss"):
        if column in ours:
            np.testing.assert_allclose(theirs[column], ours[column], rtol=1e-5)


def test_stale_steps_are_taken_in_order(federation):
    times = unalike.timing.FixedTimes(np.array([1.0, 2, 3, 1, 2, 3]))
    here, there = both(federation, method("scaffold"), timing=Asynchronous(hardware=times))
    assert largest_difference(here.state, there.state) < 1e-6


@pytest.mark.exact
def test_what_clients_remember_can_be_moved_to_another_shard(federation):
    task, algorithm = toys.logistic_task(), method("scaffold")
    setting = Setting(federation, task, algorithm, 0)
    state = algorithm.init(task, jax.random.key(0))
    message = algorithm.broadcast(task, state)
    template = reply_template(setting, message).memory
    old, new = (Shard(shard_setting(setting, np.array([4, 1, 2])), template) for _ in range(2))
    step = toys.step(0, [2, 4], [0.5, 0.5])
    old.visit(step, unalike.algorithms.Messages(message), False)
    clients, memories = old.remembered(np.array([1, 2, 4]))
    assert clients.tolist() == [2, 4]
    new.remember(clients, memories)
    again, same = (
        s.visit(toys.step(1, [2, 4], [0.5, 0.5]), unalike.algorithms.Messages(message), False)
        for s in (old, new)
    )
    assert largest_difference(again.tally.total, same.tally.total) == 0


def test_shards_have_about_the_same_work():
    sizes = np.random.default_rng(0).integers(1, 200, 50)
    loads = [sizes[clients].sum() for clients in partition_clients(LocalWork(batch_size=1), sizes, 4)]
    assert max(loads) - min(loads) <= sizes.max()
    assert sorted(np.concatenate(partition_clients(LocalWork(), sizes, 7)).tolist()) == list(range(50))


@pytest.mark.parametrize("shards", [0, 4])
def test_there_are_not_more_shards_than_clients(shards):
    with pytest.raises(unalike.ConfigError, match="3 clients can be cut into 1 to 3 shards"):
        partition_clients(LocalWork(), np.ones(3, np.int64), shards)
