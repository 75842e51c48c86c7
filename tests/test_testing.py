"""Does the contract test let good algorithms pass and catch bad ones?"""

from dataclasses import dataclass

import jax
import numpy as np
import pytest

import unalike
from unalike import FedAvg, Reply, local_sgd
from unalike.algorithms import SimilarityWeights, algorithm_registry
from unalike.algorithms.shared.gaussian_mixture import gaussian_task
from unalike.core import pytrees
from unalike.models import Task, mlp_norm
from unalike.testing import CHECKS, ContractError, check_algorithm
from unalike.topology.gossip import Gossip

WEIGHTS_MOVE, NUMBERED = "no step no change", "order of clients"
NOT_PROMISED = {
    "fedem": WEIGHTS_MOVE,  # mixture weights are fitted even when models stand still
    "d-fedem": WEIGHTS_MOVE,
    "fem-omd": WEIGHTS_MOVE,
    "fem-omd-gaussian": WEIGHTS_MOVE,
    "clustered-fl": NUMBERED,  # clusters and models are numbered by clients
    "mocha": NUMBERED,
    "gifair": NUMBERED,  # multipliers are listed by clients
    "gifair-per": NUMBERED,
    "gifair+": NUMBERED,
    "term-group": NUMBERED,
    "afl": NUMBERED,
    "perturbed": NUMBERED,  # means over similar clients are numbered by clients
    "perturbed-permuted": NUMBERED,
    "dp-sgd": NUMBERED,  # every client draws noise of its own
    "werm-dp-sgd": NUMBERED,
}
ALIKE = SimilarityWeights(1.0 - np.eye(5))  # given, because it is found from everyone's rows otherwise
SETTINGS = {
    "fedem": {"components": 2},
    "d-fedem": {"components": 2},
    "fem-omd": {"components": 2},
    "fem-omd-gaussian": {"components": 2, "em_steps": 1},
    "fedrep": {"head_epochs": 2},  # ten passes are slow in the engine that does not compile
    "knnper": {"k": 3},
    "perturbed": {"similarity": ALIKE},
    "perturbed-permuted": {"similarity": ALIKE},
}
WITH_LAYERS = ("fedper", "fedrep", "fedbn")
OF_DENSITIES = ("fem-omd-gaussian",)


SAME_CLASS = ("fedavgm", "fedyogi", "fedadagrad")  # FedAvg with other defaults; fedadam stands for them


OF_BITS = ("same seed", "state survives saving")
ELSEWHERE = ("fgpr",)  # of regressions, in double precision: tests/analytics/gaussian_process
NAMES = [name for name in algorithm_registry if name not in (*SAME_CLASS, *ELSEWHERE)]


def kept_promises(name, *skip):
    layered = Task.classification(mlp_norm(3, input_shape=(4,), outputs=3), 3)
    special = dict.fromkeys(WITH_LAYERS, layered) | dict.fromkeys(OF_DENSITIES, gaussian_task(4))
    return check_algorithm(
        algorithm_registry.make(name, **SETTINGS.get(name, {})),
        task=special.get(name),
        timing=Gossip("ring") if algorithm_registry.make(name).decentralized else None,
        skip=[NOT_PROMISED.get(name, ""), *skip],
    )


AS_USERS_COMPILE = ("fedavg", "scaffold", "fedem", "ditto", "knnper", "mocha", "d-fedem", "gifair", "afl")
"""One method for each way in which clients, servers and engines work together."""


@pytest.mark.exact
@pytest.mark.parametrize("name", AS_USERS_COMPILE)
def test_algorithms_give_the_same_bytes_for_the_same_seed_as_users_compile_them(name):
    assert kept_promises(name, *(set(CHECKS) - set(OF_BITS))) == list(OF_BITS)


ON_EVERY_ENGINE = (
    *AS_USERS_COMPILE,
    "apfl",
    "fedrep",
    "per-fedavg",
    "push-sum",
)
"""One method for each way of working; the engine that does not compile is slow."""


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_of_the_catalog_keeps_the_contract(name):
    left_out = set() if name in ON_EVERY_ENGINE else {"every engine"}
    left_out |= set(OF_BITS) if name in AS_USERS_COMPILE else set()
    expected = set(CHECKS) - {*left_out, NOT_PROMISED.get(name)} - not_claimed(algorithm_registry.make(name))
    assert set(kept_promises(name, *left_out)) == expected


def not_claimed(algorithm):
    """Promises that a method says it does not make, which must not be listed as kept."""
    adapts = algorithm.evaluation_work.steps != 0
    claims = {
        "order of clients": not algorithm.decentralized,
        "clients keep to themselves": not algorithm.decentralized,
        "no step no change": hasattr(algorithm, "optimizer"),
        "one client is local training": algorithm.equals_local_training and not adapts,
    }
    return {name for name, claimed in claims.items() if not claimed}


@dataclass(frozen=True, kw_only=True)
class Peeking(FedAvg):
    """Reads all clients' rows."""

    def client(self, task, message, memory, data, key):
        trained = local_sgd(task, message, data, self.optimizer).params
        return Reply(jax.tree.map(lambda leaf: leaf + 1e-3 * data.x.mean(), trained))


@dataclass(frozen=True, kw_only=True)
class Drifting(FedAvg):
    """Moves even when the learning rate is zero."""

    def client(self, task, message, memory, data, key):
        return Reply(jax.tree.map(lambda leaf: leaf.at[..., 0].add(0.1), message))


@dataclass(frozen=True, kw_only=True)
class FirstCounts(FedAvg):
    """Gives the client with the smallest number more weight."""

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        return Reply(jax.tree.map(lambda leaf: leaf * (1.0 + 0.1 * (data.start == 0)), reply.upload))


@pytest.mark.parametrize(
    ("algorithm", "promise"),
    [(Peeking(), "another's data"), (Drifting(), "zero changes"), (FirstCounts(), "order of clients")],
)
def test_a_broken_promise_is_named(algorithm, promise):
    with pytest.raises(ContractError, match=promise):
        check_algorithm(
            algorithm, skip=["same seed", "state survives saving", "one client is local training"]
        )


@dataclass(frozen=True, kw_only=True)
class Pair(FedAvg):
    """Forgets that a client hands back a reply."""

    def client(self, task, message, memory, data, key):
        return message, memory


@dataclass(frozen=True, kw_only=True)
class Unasked(FedAvg):
    """Uses a sum that it has not asked for."""

    def aggregate(self, task, state, mixed):
        return {**state, "params": pytrees.add(state["params"], mixed.importance_sum)}


@pytest.mark.parametrize("engine", ["local", "debug"])
@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (Pair(), r"Pair\.client returns a tuple; let it return Reply\(upload, memory, report\)"),
        (
            Unasked(),
            r"Unasked\.aggregate uses .* write needs: .* = Needs\(importance_sum=True\) in Unasked",
        ),
    ],
)
def test_mistakes_of_ones_own_method_are_said_in_a_sentence(algorithm, words, engine):
    federation = unalike.testing.example_federation()
    task = unalike.testing.example_task(federation)
    with pytest.raises(unalike.ConfigError, match=words):
        unalike.train(federation, task, algorithm, rounds=1, engine=engine)


def test_a_run_is_shown_in_a_few_lines(tmp_path):
    federation = unalike.testing.example_federation()
    task = unalike.testing.example_task(federation)
    run = unalike.train(federation, task, FedAvg(), rounds=2, out=tmp_path / "run")
    shown = repr(run).splitlines()
    assert shown[0] == "Run of fedavg: 5 clients, 2 rounds"
    assert "test accuracy" in shown[1]
    assert shown[2] == f"  folder: {tmp_path / 'run'}"
    assert len(shown) == 3


def test_a_memory_of_another_shape_is_refused_before_training():
    class Forgetful(unalike.Local):
        def client(self, task, message, memory, data, key):
            return Reply({}, {"params": jax.tree.map(lambda leaf: leaf[:1], memory["params"])})

    federation = unalike.testing.example_federation()
    with pytest.raises(unalike.ConfigError, match="memory"):
        unalike.train(federation, unalike.testing.example_task(federation), Forgetful(), rounds=1)
