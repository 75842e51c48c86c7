"""Do rules work with every engine, timing and method, save a training from liars, and refuse what they cannot
bear?"""

from dataclasses import dataclass

import jax
import numpy as np
import pytest

import unalike
from unalike import FedAvg
from unalike.aggregation.base import aggregator_registry
from unalike.algorithms import ClusteredFL, FedEM, Scaffold
from unalike.core.pytrees import largest_difference
from unalike.experiments.build import check, make_aggregator
from unalike.experiments.config import read_experiment
from unalike.participation import Uniform
from unalike.timing import FedBuff

from ...engine import toys
from ..test_base import TIMES, WORK, trained

NAMES = ("median", "trimmed-mean:0.2", "multi-krum:1,2", "geometric-median:8", "bucketing:2,nnm:1,median")
MANY = toys.federation([6] * 9, [4] * 9)


@dataclass(frozen=True, kw_only=True)
class Liars(FedAvg):
    """The first clients send a hundred times the opposite of what they learnt."""

    liars: int = 2

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        factor = jax.numpy.where(data.client < self.liars, -100.0, 1.0)
        return reply._replace(upload=jax.tree.map(lambda a, b: b + factor * (a - b), reply.upload, message))


SLOWLY = ("bucketing:2,nnm:1,median",)
"""Rules that are also tried in the engine that does not compile."""


@pytest.mark.parametrize("name", NAMES)
def test_engines_agree(name):
    rule = aggregator_registry.make(name)
    others = ("two shards", "debug") if name in SLOWLY else ("two shards",)
    runs = [trained(FedAvg(**WORK), rule, engine=e, rounds=2) for e in ("local", *others)]
    for other in runs[1:]:
        assert largest_difference(runs[0].message, other.message) < 5e-6


@pytest.mark.parametrize("method", [Scaffold(**WORK), FedEM(components=2, **WORK)], ids=["scaffold", "fedem"])
def test_uploads_that_are_not_models_are_rows_like_others(method):
    plain, mean = (trained(method, rule, rounds=3) for rule in (None, aggregator_registry.make("mean")))
    assert largest_difference(plain.message, mean.message) < 2e-6
    run = trained(method, aggregator_registry.make("median"), rounds=3)
    assert np.isfinite(run.metrics()["train_loss"][1:]).all()


def test_the_mean_as_a_rule_is_the_weighted_sum_with_stale_results_too():
    options = {"timing": FedBuff(2, hardware=TIMES)}
    plain, mean = (
        trained(FedAvg(**WORK), rule, rounds=4, **options)
        for rule in (None, aggregator_registry.make("mean"))
    )
    assert largest_difference(plain.message, mean.message) < 2e-6


@pytest.mark.parametrize(
    "name",
    [
        "median:2",
        "trimmed-mean:0.3",
        "krum:2",
        "multi-krum:2,4",
        "geometric-median",
        "nnm:2,median",
        "bulyan:1",
    ],
)
def test_liars_ruin_the_sum_and_not_a_rule(name):
    task, liars = toys.logistic_task(), 1 if name.startswith("bulyan") else 2
    honest, plain, saved = (
        unalike.train(MANY, task, Liars(liars=n, **WORK), rounds=6, seed=1, aggregator=rule)
        for n, rule in ((0, None), (liars, None), (liars, aggregator_registry.make(name)))
    )
    fair, ruined, kept = (run.metrics()["test_loss"][-1] for run in (honest, plain, saved))
    assert not ruined < 5 * fair
    assert kept < fair + 0.3


def test_a_shuffle_follows_from_the_seed_and_changes_from_round_to_round():
    rule = aggregator_registry.make("bucketing:2,median")
    first, again = (trained(FedAvg(**WORK), rule, rounds=3) for _ in range(2))
    assert largest_difference(first.message, again.message) == 0


@pytest.mark.parametrize(
    ("name", "options", "limit"),
    [
        ("krum:2", {}, "2f \\+ 3 = 7"),
        ("multi-krum:1,6", {}, "at least 7"),
        ("bulyan:1", {}, "4f \\+ 3 = 7"),
        ("median:3", {}, "2f \\+ 1 = 7"),
        ("nnm:3,mean", {}, "2f \\+ 1 = 7"),
        ("bucketing:2,krum:1", {}, "at least 9"),
        ("krum:1", {"participation": Uniform(per_round=4)}, "4 clients"),
    ],
)
def test_more_liars_than_a_rule_bears_are_refused_with_its_limit(name, options, limit):
    with pytest.raises(unalike.ConfigError, match=limit):
        trained(FedAvg(**WORK), aggregator_registry.make(name), **options)


def test_a_step_that_turns_out_too_small_changes_nothing_and_is_recorded():
    rule = aggregator_registry.make("krum:1")
    run = trained(FedAvg(**WORK), rule, timing=FedBuff(2, hardware=TIMES), rounds=2)
    start = trained(FedAvg(**WORK), rounds=0)
    assert largest_difference(run.message, start.message) == 0
    events = [event for event in run.record.events() if event["kind"] == "too few uploads"]
    assert [(event["rule"], event["least"]) for event in events] == [("krum", 5)] * 2


def test_methods_that_look_at_single_uploads_are_refused():
    with pytest.raises(unalike.ConfigError, match="looks at every upload by itself"):
        trained(ClusteredFL(**WORK), aggregator_registry.make("median"))


def test_a_wrong_word_behind_a_pre_aggregation_is_found_before_any_data_are_read():
    with pytest.raises(unalike.ConfigError, match="did you mean 'median'"):
        check(read_experiment(None, {"data": "no such thing", "aggregator": "nnm:1,meidan"}))


def test_a_spelling_on_the_command_line_reaches_the_rule():
    made = make_aggregator(read_experiment(None, {"aggregator": "nnm:1,multi-krum:1,3"}), 10)
    assert (made.dishonest, made.rule.dishonest, made.rule.chosen) == (1, 1, 3)
