"""Does what the server makes of single uploads work with every method, timing and engine, or say why not?"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, Optimizer, Reply
from unalike.aggregation.base import Aggregator, Combined, Received
from unalike.aggregation.needs import AggregatorNeeds
from unalike.aggregation.norm_bound import NormBound
from unalike.algorithms import ClusteredFL, FedEM, Scaffold
from unalike.core.pytrees import largest_difference
from unalike.engine import LocalEngine, Setting
from unalike.participation import Poisson
from unalike.timing import Asynchronous, FedBuff, FixedTimes
from unalike.topology import Gossip

from ..engine import toys
from ..engine.test_distributed import Halves

WORK = {"work": LocalWork(steps=2, batch_size=2), "optimizer": Optimizer("sgd", 0.2)}
FEDERATION = toys.federation([3, 6, 2, 4, 5, 3], [2] * 6)
TIMES = FixedTimes(np.array([1.0, 2, 3, 1, 2, 3]))
TIMINGS = {
    "synchronous": lambda: None,
    "asynchronous": lambda: Asynchronous(hardware=TIMES),
    "fedbuff": lambda: FedBuff(2, hardware=TIMES),
}


@dataclass(frozen=True)
class Without(Aggregator):
    """Leaves a client out, as a detector would."""

    client: int = 0
    needs: ClassVar[AggregatorNeeds] = AggregatorNeeds(combine=True)

    def combine(self, uploads):
        kept = uploads.client != self.client
        return Combined(jnp.where(kept, uploads.weight, 0.0), report={"left_out": 1.0 - kept})


@dataclass(frozen=True)
class MeanChange(Aggregator):
    """One update in the place of all: here the weighted mean, so that nothing changes."""

    needs: ClassVar[AggregatorNeeds] = AggregatorNeeds(combine=True)

    def combine(self, uploads):
        weights = uploads.weight * uploads.accepted
        return Combined(
            update=jax.tree.map(lambda c: jnp.tensordot(weights, c, 1) / weights.sum(), uploads.changes())
        )


@dataclass(frozen=True)
class Lighter(Aggregator):
    """Everyone counts half."""

    def receive(self, upload, start):
        return Received(upload, 0.5)


def trained(algorithm, aggregator=None, timing=None, engine="local", rounds=4, **options):
    task = toys.logistic_task()
    if engine == "two shards":
        ready = algorithm.prepare(task, FEDERATION)
        setting = Setting(FEDERATION, task, ready, 3, aggregator=aggregator or Aggregator())
        engine = Halves(setting)
    options |= {"rounds": rounds, "seed": 3, "timing": timing, "evaluate_every": 0}
    return unalike.train(FEDERATION, task, algorithm, engine=engine, aggregator=aggregator, **options)


METHODS = {
    "fedavg": FedAvg(**WORK),
    "two sums": Scaffold(**WORK),
    "a mixture": FedEM(components=2, **WORK),
    "single uploads": ClusteredFL(**WORK),
}
ROUNDS = {"local": 2, "debug": 1, "two shards": 2}
"""By engine; the one that does not compile is slow."""


PAIRS = [
    *(("fedavg", timing) for timing in TIMINGS),
    ("two sums", "asynchronous"),
    ("a mixture", "fedbuff"),
    ("single uploads", "synchronous"),
]
"""Every method, and every timing: what a step does with uploads does not depend on when it is taken."""


@pytest.mark.parametrize(("name", "timing"), PAIRS)
def test_an_update_that_is_the_mean_of_all_changes_nothing(name, timing):
    """(But for a second sum, by importance: a single update cannot have two means.)"""
    plain, combined = (
        trained(METHODS[name], aggregator, TIMINGS[timing]()) for aggregator in (None, MeanChange())
    )
    assert largest_difference(plain.message, combined.message) < 2e-6


@pytest.mark.parametrize("engine", ROUNDS)
def test_who_is_left_out_is_as_if_it_had_sent_nothing_usable(engine):
    """The others take over its weight, as they do for a rejected upload."""
    run = trained(METHODS["two sums"], Without(2), engine=engine, rounds=ROUNDS[engine])
    rejected = trained(_Failing(client=2, **WORK), rounds=ROUNDS[engine])
    assert largest_difference(run.state["params"], rejected.state["params"]) < 2e-6
    assert run.metrics()["left_out"][-1] == pytest.approx(FEDERATION.importance[2], rel=1e-5)


@dataclass(frozen=True, kw_only=True)
class _Failing(Scaffold):
    client_number: ClassVar[str] = "client"
    client_id: int = 2

    def __init__(self, client=2, **options):
        object.__setattr__(self, "client_id", client)
        super().__init__(**options)

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        bad = jnp.where(data.client == self.client_id, jnp.nan, 0.0)
        return reply._replace(upload=jax.tree.map(lambda leaf: leaf + bad, reply.upload))


EVERYWHERE = [*((timing, "local") for timing in TIMINGS), ("synchronous", "debug"), ("fedbuff", "two shards")]
"""Every timing and every engine."""


@pytest.mark.parametrize(("timing", "engine"), EVERYWHERE)
def test_uploads_that_count_half_move_the_model_half_as_far(engine, timing):
    """Weights are not brought back to one: what a client is given, or gives itself, is kept."""
    plain, light = (
        trained(METHODS["fedavg"], aggregator, TIMINGS[timing](), engine, rounds=1)
        for aggregator in (None, Lighter())
    )
    start = trained(METHODS["fedavg"], rounds=0)
    moved, less = (jax.tree.map(np.subtract, run.message, start.message) for run in (plain, light))
    assert largest_difference(jax.tree.map(lambda leaf: leaf / 2, moved), less) < 1e-6


@pytest.mark.parametrize("engine", ROUNDS)
def test_no_change_is_longer_than_the_bound_and_short_ones_are_left_alone(engine):
    bounds, rounds = (None, NormBound(1e6), NormBound(0.01)), ROUNDS[engine]
    runs = [trained(METHODS["fedavg"], bound, engine=engine, rounds=rounds) for bound in bounds]
    assert largest_difference(runs[0].message, runs[1].message) < 1e-6
    assert runs[2].metrics()["clipped"][1:].tolist() == [1] * rounds
    start = trained(METHODS["fedavg"], rounds=0)
    change = jax.tree.map(np.subtract, runs[2].message, start.message)
    assert np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(change))) <= 0.02 + 1e-6


def test_it_composes_with_an_unbiased_sampler_and_with_several_rounds_at_once():
    who = Poisson(per_round=3)
    plain, combined = (
        trained(METHODS["fedavg"], aggregator, participation=who) for aggregator in (None, MeanChange())
    )
    assert largest_difference(plain.message, combined.message) < 2e-6


@dataclass(frozen=True, kw_only=True)
class OtherShapes(FedAvg):
    """Sends a number beside its model."""

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        return reply._replace(upload={"model": reply.upload, "one": jnp.ones(())})

    def aggregate(self, task, state, mixed):
        return super().aggregate(task, state, mixed._replace(total=mixed.total["model"]))


@pytest.mark.parametrize(
    ("aggregator", "algorithm", "options", "words"),
    [
        (NormBound(1.0), METHODS["two sums"], {}, None),
        (NormBound(1.0), OtherShapes(**WORK), {}, "bounds how an upload differs from the message"),
        (NormBound(1.0), unalike.algorithms.DPASGD(**WORK), {"timing": Gossip("ring")}, "needs a server"),
    ],
    ids=["same shapes", "other shapes", "no server"],
)
def test_what_cannot_work_is_refused_with_the_reason(aggregator, algorithm, options, words):
    if words is None:
        trained(algorithm, aggregator, rounds=1, **options)
        return
    with pytest.raises(unalike.ConfigError, match=words):
        trained(algorithm, aggregator, rounds=1, **options)


# What a client says that it weighs ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SaysWeight(FedAvg):
    """Client i lets itself weigh `factors[i]` times what it would."""

    factors: tuple[float, ...] = ()
    name: ClassVar[str] = "says-weight"

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        return reply._replace(weight=jnp.asarray(self.factors)[data.client])


FACTORS = (1.0, 2.0, 0.5, 0.0, 3.0, 1.5)


@pytest.mark.parametrize(("timing", "engine"), EVERYWHERE)
def test_a_replys_weight_multiplies_that_of_the_step(engine, timing):
    """The same as uploading a change that is so much longer."""

    @dataclass(frozen=True, kw_only=True)
    class Longer(FedAvg):
        def client(self, task, message, memory, data, key):
            reply = super().client(task, message, memory, data, key)
            factor = jnp.asarray(FACTORS)[data.client]
            change = jax.tree.map(lambda a, b: b + factor * (a - b), reply.upload, message)
            return Reply(change, memory, reply.report)

    said, longer = (
        trained(algorithm, None, TIMINGS[timing](), engine, ROUNDS[engine])
        for algorithm in (SaysWeight(factors=FACTORS, **WORK), Longer(**WORK))
    )
    assert largest_difference(said.state["params"], longer.state["params"]) < 2e-6


def test_a_weight_that_is_not_a_number_is_rejected_with_its_upload():
    run = trained(SaysWeight(factors=(float("nan"), *FACTORS[1:]), **WORK), rounds=2)
    assert run.metrics()["rejected"][1:].tolist() == [1, 1]
    assert np.isfinite(run.metrics()["train_loss"][1:]).all()


def test_the_default_costs_no_other_program():
    """Nothing of an aggregator is compiled where there is none: the programs are those of the plain sum."""
    plain = LocalEngine(Setting(FEDERATION, toys.logistic_task(), METHODS["fedavg"], 3))
    assert not plain.setting.server.keeps_uploads(False)
    assert not plain.setting.aggregator.stepwise
