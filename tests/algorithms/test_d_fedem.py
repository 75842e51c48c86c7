"""Is FedEM without a server the recursion of its paper, and FedEM itself where everyone hears everyone?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import ConfigError
from unalike.algorithms import FedEM, LocalWork, Optimizer
from unalike.algorithms.d_fedem import DFedEM
from unalike.core import pytrees
from unalike.engine import Setting, engine_registry
from unalike.topology import disagreement, graph_of, mixing_of
from unalike.topology.gossip import Gossip

from . import naive

SIZES = [5, 8, 3, 4]
STEP = {"work": LocalWork(steps=2, batch_size=0), "optimizer": Optimizer("sgd", 0.2), "components": 2}


def row_losses(theta, x, y):
    return np.array([naive.loss(theta, x[i : i + 1], y[i : i + 1]) for i in range(len(x))])


def naive_rounds(federation, starts, matrix, paces, rounds, rate=0.2, steps=2):
    """Everyone's components (clients, components, ...) after so many rounds, written with loops."""
    theta, shares = np.array([starts] * len(SIZES)), np.full((len(SIZES), 2), 0.5)
    for _ in range(rounds):
        trained = theta.copy()
        for t in range(len(SIZES)):
            x, y = federation.train.client(t)
            joint = shares[t] * np.exp(-np.stack([row_losses(theta[t, m], x, y) for m in (0, 1)], 1))
            q = joint / joint.sum(1, keepdims=True)
            shares[t] = q.mean(0)
            for m in (0, 1):
                for _ in range(steps):
                    slopes = [
                        naive.gradient(trained[t, m], x[i : i + 1], y[i : i + 1]) for i in range(len(x))
                    ]
                    trained[t, m] -= rate * paces[t] * np.tensordot(q[:, m], slopes, 1) / len(x)
        theta = np.tensordot(matrix, trained, 1)
    return theta, shares


def flat(params, t):
    return np.stack([naive.flat(pytrees.row(one, t)) for one in params])


@pytest.mark.parametrize("weighting", ["importance", "equal"])
def test_rounds_on_a_path_equal_the_recursion_written_with_loops(federation, task, weighting):
    timing = Gossip("path")
    run = naive.train(federation, task, DFedEM(step_weights=weighting, **STEP), 3, timing=timing)
    starts = flat(run.history.state(0)["params"], 0)
    paces = 4 * np.array(SIZES) / 20 if weighting == "importance" else np.ones(4)
    theta, shares = naive_rounds(federation, starts, timing.matrix(0), paces, 3)
    for t in range(4):
        np.testing.assert_allclose(flat(run.state["params"], t), theta[t], atol=2e-5)
    np.testing.assert_allclose(run.memories.gather(np.arange(4))[0]["weights"], shares, atol=2e-5)


def test_a_tiny_clients_training_loss_is_the_mean_over_its_rows(task):
    """Its rows weigh less than one row together, which makes its steps short but not its loss small."""
    federation = naive.federation([1, 40, 40])
    method = DFedEM(**STEP).prepare(task, federation)
    engine = engine_registry.make("debug", setting=Setting(federation, task, method, 0))
    starts = [task.init(jax.random.key(0))] * 2
    for t in range(3):
        data = engine.client_data(0, t, method.work)
        reply = method.client(task, starts, {"weights": jnp.full(2, 0.5)}, data, data.key)
        assert float(reply.report["train_loss"]) == pytest.approx(np.log(naive.CLASSES), rel=1e-5)


def test_one_step_where_everyone_hears_everyone_is_fedem(federation, task):
    """A complete graph averages clients alike; importance is in the steps instead."""
    one = {**STEP, "work": LocalWork(steps=1, batch_size=0)}
    server = naive.train(federation, task, FedEM(**one), 3)
    equal = Gossip(matrices=np.full((4, 4), 0.25))
    own = naive.train(federation, task, DFedEM(**one), 3, timing=equal)
    for t in range(4):
        assert pytrees.largest_difference(pytrees.row(own.state["params"], t), server.state["params"]) < 1e-5


def test_the_mean_of_all_models_moves_as_if_nobody_had_mixed(federation, task):
    """Doubly stochastic weights keep the mean, whatever the graph."""
    frozen = DFedEM(**{**STEP, "optimizer": Optimizer("sgd", 0.0)}, own_starts=True)
    run = naive.train(federation, task, frozen, 5, timing=Gossip("path"))
    before, after = run.history.state(0)["params"], run.state["params"]
    mean = [jax.tree.map(lambda leaf: leaf.mean(0), state) for state in (before, after)]
    assert pytrees.largest_difference(*mean) < 1e-6
    assert 0 < disagreement(after) < disagreement(before)


def test_own_starts_differ_and_a_common_start_does_not(federation, task):
    common, own = (
        DFedEM(own_starts=own, **STEP).prepare(task, federation).init(task, jax.random.key(0))["params"]
        for own in (False, True)
    )
    assert disagreement(common) < 1e-6 < 0.1 < disagreement(own)


def test_what_makes_no_sense_without_a_server_is_refused():
    with pytest.raises(ConfigError, match="no server"):
        DFedEM(server_optimizer=Optimizer("adam", 0.1))
    with pytest.raises(ConfigError, match="unknown step weighting 'even'"):
        DFedEM(step_weights="even")
    with pytest.raises(ConfigError, match="components"):
        DFedEM(components=0)


def test_matrices_are_built_on_the_given_graph():
    timing = Gossip("grid", "fastest")
    timing.begin(unalike.timing.Clients(np.full(6, 1 / 6)))
    assert (timing.matrix(0) == mixing_of("fastest", graph_of("grid", 6))).all()
