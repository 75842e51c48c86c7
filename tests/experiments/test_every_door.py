"""Does every setting mean the same in Python and on the command line, and does `serve` know each?

A setting becomes a plan by both doors. Equal plans (clients, rows, task, method, participation, timing,
stream, aggregation, lengths) are trained by the same function, so that they give the same bytes.
"""

import dataclasses
import inspect

import numpy as np
import pytest

import unalike
from unalike import FedAvg, FedProx, LocalWork, MemoryStream, Optimizer, Task
from unalike.aggregation.base import WeightedSum
from unalike.algorithms import WERM, FedAdam
from unalike.cli.commands.serve import AT_THE_NODES
from unalike.core.describe import difference
from unalike.data.digests import data_digests
from unalike.data.reference_rows import shuffle_rows
from unalike.deploy.server import SIMULATED, check_servable
from unalike.errors import ConfigError
from unalike.experiments.config import Experiment, make_experiment
from unalike.experiments.run import plan_experiment
from unalike.participation import Intermittent, Known, availability_registry
from unalike.participation.strategies.base import strategy_registry
from unalike.privacy.central import central_dp
from unalike.privacy.local import LocalPrivacy
from unalike.privacy.local_simulation import LocallyPrivate
from unalike.timing import NetworkTime, timing_registry
from unalike.topology import GIGABIT, OnNetwork, connect
from unalike.training.make_plan import plan_training
from unalike.training.prepare import plan_fingerprint
from unalike.trust.monitor import monitor_registry

BASE = {"data": "digits", "clients": 6, "samples": 120, "rounds": 3, "model": "linear", "algorithm": "fedavg"}
LOAD = set(inspect.signature(unalike.load).parameters) - {"name", "path", "without", "historical_clients"}
TRAIN = set(inspect.signature(unalike.train).parameters)
TASK = {"model", "state", "l2", "metrics"}
WORK = LocalWork(epochs=None, steps=None, batch_size=16)


def timing(name="synchronous", **options):
    return {"timing": timing_registry.make(name, hardware="equal", **options)}


def network(**changes):
    given = {"access": 10.0, "core": 1.0, "underlay": "gaia", "workload": None, **changes}
    workload = given["workload"] or "custom:1,10.0"
    silos = connect(
        given["underlay"],
        workload,
        local_steps=1,
        access=given["access"] * GIGABIT,
        core=given["core"] * GIGABIT,
        seed=0,
    )
    clock = OnNetwork("ring", silos, push=False, own_size=given["workload"] is None)
    return {"algorithm": "dpasgd", "timing": clock, "clients": len(silos)}


def intermittent(strategy="fedavg", sampler=None, known=False):
    chain = availability_registry.make("markov:0.5,0.5", clients=6, seed=0)
    weights = strategy_registry.make(strategy, fit_minima=False, groups=None, per_round=None, rounds=3)
    beliefs = Known(chain.active, chain.correlation) if known else None
    return {"participation": Intermittent(chain, weights, sampler, beliefs)}


def stream(weights="memory-size", **options):
    return {"stream": MemoryStream("constant:4", options.pop("memory", None), weights, **options)}


MONITOR = monitor_registry.make("free-riders:2", clients=6, rule=WeightedSum())
MARKOV = {"availability": "markov:0.5,0.5"}
ARRIVING = {"stream": "constant:4"}
CASES = {
    "data": ({"data": "gaussians", "clients": 5}, {"name": "gaussians", "clients": 5}),
    "clients": ({"clients": 5}, {}),
    "samples": ({"samples": 90}, {}),
    "partition": ({"partition": "dirichlet:0.5"}, {}),
    "sizes": ({"sizes": "lognormal:1", "partition": "iid"}, {}),
    "skew": ({"skew": "rotation:30"}, {}),
    "watermark": ({"watermark": "pixels:5"}, {}),
    "watermarked": ({"watermark": "pixels:5", "watermarked": "2"}, {}),
    "test_fraction": ({"test_fraction": 0.3}, {}),
    "validation_fraction": ({"validation_fraction": 0.1}, {}),
    "seed": ({"seed": 3}, {}),
    "unseen": ({"unseen": 0.34}, {}),
    "reference_fraction": (
        {"algorithm": "werm", "reference_fraction": 0.3},
        {"algorithm": WERM(work=WORK, reference_fraction=0.3), "change": lambda f: shuffle_rows(f, 0)},
    ),
    "stream": (ARRIVING, stream()),
    "historical_share": (
        {"stream": "constant:4,0.5", "partition": "iid", "historical_share": 0.2},
        {"stream": MemoryStream("constant:4,0.5")},
    ),
    "memory": ({**ARRIVING, "memory": "fifo:9"}, stream(memory="fifo:9")),
    "stream_weights": ({**ARRIVING, "stream_weights": "uniform"}, stream("uniform")),
    "stream_period": ({**ARRIVING, "stream_period": 2.0}, stream(period=2.0)),
    "drift": (
        {**ARRIVING, "drift": "abrupt:2,label-swap"},
        stream(drift="abrupt:2,label-swap"),
    ),
    "drift_detector": ({**ARRIVING, "drift_detector": "adwin"}, stream(detector="adwin")),
    "importance": ({"importance": "equal"}, {"change": lambda f: f.with_importance("equal")}),
    "groups": (
        {"groups": "column:label"},
        None,  # of tables; see tests of groups
    ),
    "model": ({"model": "mlp:8"}, {}),
    "state": ({"model": "mlp-bn:8", "state": "average"}, {}),
    "l2": ({"l2": 0.01}, {}),
    "metrics": ({"metrics": "f1,accuracy"}, {"metrics": ["f1", "accuracy"]}),
    "algorithm": ({"algorithm": "fedprox"}, {"algorithm": FedProx(work=WORK)}),
    "options": ({"algorithm": "fedprox", "options": {"mu": 0.5}}, {"algorithm": FedProx(work=WORK, mu=0.5)}),
    "rounds": ({"rounds": 2}, {}),
    "restarts": ({"restarts": 2}, {}),
    "aggregator": ({"aggregator": "median"}, {}),
    "central_dp": ({"central_dp": "1,0.8"}, {"aggregator": central_dp(1.0, 0.8, clients=6)}),
    "local_dp": (
        {"local_dp": "1,0.5,1e-5"},
        {"algorithm": LocallyPrivate(work=WORK, inner=FedAvg(work=WORK), privacy=LocalPrivacy(1, 0.5, 1e-5))},
    ),
    "epsilon": ({"algorithm": "dp-sgd", "epsilon": 5.0}, {}),
    "delta": ({"algorithm": "dp-sgd", "epsilon": 5.0, "delta": 1e-4}, {}),
    "monitor": (
        {"monitor": "free-riders:2"},
        {"aggregator": monitor_registry.make("free-riders:2", clients=6, rule=WeightedSum())},
    ),
    "behavior": ({"behavior": "sign-flip"}, {}),
    "dishonest": ({"behavior": "sign-flip", "dishonest": "2"}, {}),
    "per_round": ({"per_round": 3}, {}),
    "sampling": ({"sampling": "md", "per_round": 3}, {"participation": "md"}),
    "availability": (MARKOV, intermittent()),
    "participation": ({**MARKOV, "participation": "unbiased"}, intermittent("unbiased")),
    "beliefs": (
        {**MARKOV, "participation": "unbiased", "beliefs": "known"},
        intermittent("unbiased", known=True),
    ),
    "epochs": ({"epochs": 2}, {"algorithm": FedAvg(work=LocalWork(epochs=2, batch_size=16))}),
    "steps": ({"steps": 2}, {"algorithm": FedAvg(work=LocalWork(steps=2, batch_size=16))}),
    "batch_size": ({"batch_size": 8}, {"algorithm": FedAvg(work=LocalWork(batch_size=8))}),
    "optimizer": ({"optimizer": "adam"}, {"algorithm": FedAvg(work=WORK, optimizer=Optimizer("adam", 0.1))}),
    "learning_rate": (
        {"learning_rate": 0.5},
        {"algorithm": FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.5))},
    ),
    "momentum": (
        {"momentum": 0.9},
        {"algorithm": FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.1, momentum=0.9))},
    ),
    "schedule": (
        {"schedule": "decay:0.9"},
        {"algorithm": FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.1, schedule="decay:0.9"))},
    ),
    "clip": ({"clip": 1.0}, {"algorithm": FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.1, clip=1.0))}),
    "server_optimizer": (
        {"server_optimizer": "adam"},
        {"algorithm": FedAvg(work=WORK, server_optimizer=Optimizer("adam", 1.0))},
    ),
    "server_learning_rate": (
        {"algorithm": "fedadam", "server_learning_rate": 0.5},
        {
            "algorithm": FedAdam(
                work=WORK,
                server_optimizer=dataclasses.replace(FedAdam().server_optimizer, learning_rate=0.5),
            )
        },
    ),
    "network": ({"network": "ring", "clients": None, "algorithm": "dpasgd"}, network()),
    "underlay": (
        {"network": "ring", "clients": None, "algorithm": "dpasgd", "underlay": "aws-na"},
        network(underlay="aws-na"),
    ),
    "access": (
        {"network": "ring", "clients": None, "algorithm": "dpasgd", "access": 1.0},
        network(access=1.0),
    ),
    "core": ({"network": "ring", "clients": None, "algorithm": "dpasgd", "core": 2.0}, network(core=2.0)),
    "workload": (
        {"network": "ring", "clients": None, "algorithm": "dpasgd", "workload": "femnist"},
        network(workload="femnist"),
    ),
    "timing": ({"timing": "async"}, timing("async")),
    "hardware": (
        {"timing": "async", "hardware": "spread:80"},
        {"timing": timing_registry.make("async", hardware="spread:80")},
    ),
    "bandwidth": (
        {"timing": "async", "bandwidth": "100,20,0.05"},
        timing("async", network=NetworkTime.of("100,20,0.05")),
    ),
    "timing_weights": (
        {"timing": "async", "timing_weights": "identical"},
        timing("async", weights="identical"),
    ),
    "largest_weight": (
        {"timing": "async", "largest_weight": 0.5},
        timing("async", largest_weight=0.5),
    ),
    "staleness": (
        {"timing": "async", "staleness": "polynomial:0.5"},
        timing("async", staleness="polynomial:0.5"),
    ),
    "dropout": ({"timing": "async", "dropout": 0.2}, timing("async", dropout=0.2)),
    "timeout": ({"timing": "async", "timeout": 5.0}, timing("async", timeout=5.0)),
    "stop_at": ({"stop_at": "accuracy=0.9"}, {}),
    "patience": ({"patience": 2}, {}),
    "until": ({"timing": "async", "until": 3.0, "rounds": None}, timing("async")),
    "track": ({"track": "jsonl"}, {}),
    "engine": ({"engine": "debug"}, {}),
    "devices": ({"devices": 1}, {}),
    "evaluate_every": ({"evaluate_every": 2}, {}),
    "evaluate_clients": ({"evaluate_clients": 3}, {}),
    "evaluate_training": ({"evaluate_training": True}, {}),
    "regret": ({**ARRIVING, "regret": "last"}, stream()),
    "checkpoint_every": ({"checkpoint_every": 2}, {}),
}
"""For each setting: an experiment, and what a Python user gives instead of the words of the same name."""
OF_TABLES = ("label", "client_column", "drop", "keep_columns", "prepare", "missing", "groups")
"""Settings of tables, which both doors hand to the same `load`, or to `with_groups`."""
ELSEWHERE = {
    "unlearning": "forgetting needs a run folder with its settings; tests/experiments/test_forget.py",
    "ledger": "the same",
    "reference_sensitivity": "weighs leakages in `unalike audit`; nothing of a training",
}


def by_python(settings, given):
    """The plan of `unalike.train` with the words of the same names, and objects for the others."""
    words = {**BASE, **settings}
    told = {name: value for name, value in words.items() if name in LOAD and value is not None}
    told = {**told, **{name: given[name] for name in LOAD & given.keys()}}
    federation = unalike.load(given.get("name", "digits"), **told)
    federation = given.get("change", lambda f: f)(federation)
    chosen = {name: given.get(name, words[name]) for name in TASK & words.keys()}
    task = Task.of(federation, chosen.pop("model"), **chosen)
    options = {name: value for name, value in words.items() if name in TRAIN}
    options |= {name: value for name, value in given.items() if name in TRAIN}
    return plan_training(federation, task, options.pop("algorithm"), **options)


def shown(plan):
    """All that decides what is trained, as plain values."""
    plain = {
        field.name: getattr(plan, field.name)
        for field in dataclasses.fields(plan)
        if isinstance(getattr(plan, field.name), int | float | str | None)
    }
    clients = {
        name: None if who is None else [data_digests(who), np.asarray(who.importance).tolist()]
        for name, who in (("clients", plan.federation), ("newcomers", plan.newcomers))
    }
    observers = [type(observer).__name__ for observer in plan.observers]
    return {**plain, **clients, "observers": observers, **plan_fingerprint(plan)["settings"]}


@pytest.mark.parametrize("name", [name for name, (_, given) in CASES.items() if given is not None])
def test_a_setting_means_the_same_in_python_and_on_the_command_line(name):
    settings, given = CASES[name]
    experiment = make_experiment({k: v for k, v in {**BASE, **settings}.items() if v is not None})
    plan = plan_experiment(experiment)
    assert difference(shown(plan), shown(by_python(settings, given))) is None
    usual = plan_experiment(make_experiment(BASE))
    assert difference(shown(plan), shown(usual)) is not None, "the setting changes nothing"


def test_every_setting_is_tried():
    assert {*CASES, *OF_TABLES, *ELSEWHERE} == set(Experiment.model_fields)
    assert set(OF_TABLES) - {"groups"} <= LOAD


SERVED = frozenset(
    (
        *("test_fraction", "validation_fraction", "state", "l2", "metrics", "model", "options", "seed"),
        *("clients", "algorithm", "rounds", "aggregator", "epsilon", "delta", "monitor", "unlearning"),
        *("ledger", "per_round", "sampling", "epochs", "steps", "batch_size", "optimizer"),
        *("learning_rate", "momentum", "schedule", "clip", "server_optimizer", "server_learning_rate"),
        *("timing", "timing_weights", "largest_weight", "staleness", "stop_at", "track", "evaluate_every"),
        *("evaluate_clients", "checkpoint_every", "importance", "groups", "reference_fraction"),
    )
)
"""Settings that a server of real clients honors."""


@pytest.mark.parametrize("name", Experiment.model_fields)
def test_serve_honors_a_setting_or_names_it(name):
    """Honored, named at the start as something of simulations, an option of nodes, or refused by its name."""
    if name in SERVED | set(SIMULATED) | set(AT_THE_NODES):
        return
    with pytest.raises(ConfigError, match=name):
        check_servable(make_experiment({**BASE, name: CASES[name][0][name]}))
