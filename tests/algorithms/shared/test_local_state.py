"""Are running statistics averaged, or kept, as was chosen?"""

import re

import flax.linen as nn
import jax
import numpy as np
import optax
import pytest

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, Optimizer, Task
from unalike.algorithms import algorithm_registry
from unalike.algorithms.shared.local_state import LocalState, keep_state
from unalike.core import pytrees
from unalike.engine import LocalEngine, Setting, root_key

WORK = LocalWork(epochs=1, batch_size=0)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        h = nn.BatchNorm(use_running_average=not train, momentum=0.9)(nn.Dense(5)(x))
        return nn.Dense(3)(nn.relu(h))


def rows(number, size):
    rng = np.random.default_rng(number)
    return number + rng.normal(size=(size, 4)).astype(np.float32), rng.integers(0, 3, size)


ROWS = {"a": rows(1, 6), "b": rows(2, 12)}
TWO = Federation.from_clients(ROWS, test_fraction=0)


def train(federation, state="average", algorithm=None, rounds=1, **rest):
    task = Task.of(federation, Net(), state=state)
    algorithm = algorithm or FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.5))
    return unalike.train(federation, task, algorithm, rounds=rounds, seed=0, evaluate_every=0, **rest)


def alone(name):
    return Federation.from_clients({name: ROWS[name]}, test_fraction=0)


@pytest.fixture(scope="module")
def together():
    return train(TWO)


def start_of(run):
    params = run.setting.task.init(root_key(0, "init"))
    return {"params": params.weights, **params.state}


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_one_client_is_plain_training_in_flax(engine):
    run = train(alone("a"), engine=engine)
    variables, (x, y) = start_of(run), ROWS["a"]

    @jax.jit
    def step(variables):
        def loss(weights):
            whole = {**variables, "params": weights}
            logits, after = Net().apply(whole, x, train=True, mutable=["batch_stats"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), after

        gradient, after = jax.grad(loss, has_aux=True)(variables["params"])
        return {"params": pytrees.add_scaled(variables["params"], -0.5, gradient), **after}

    expected = step(variables)
    assert pytrees.largest_difference({"params": run.message.weights, **run.message.state}, expected) < 1e-5


def test_the_average_is_the_weighted_mean_of_the_clients_statistics(together):
    one, other = (train(alone(name)).message for name in ROWS)
    mean = pytrees.add(pytrees.scale(6 / 18, one), pytrees.scale(12 / 18, other))
    assert pytrees.largest_difference(together.message, mean) < 1e-6


def test_no_optimizer_of_the_server_touches_statistics(together):
    adam = algorithm_registry.make("fedadam", work=WORK, optimizer=Optimizer("sgd", 0.5))
    found = train(TWO, algorithm=adam).message
    assert pytrees.largest_difference(found.state, together.message.state) < 1e-6
    assert pytrees.largest_difference(found.weights, together.message.weights) > 1e-3


def test_clients_keep_their_own_statistics_and_newcomers_take_the_mean(together):
    run = train(TWO, "local")
    assert pytrees.largest_difference(run.message, together.message) < 1e-6
    task, method = run.setting.task, run.setting.algorithm
    own = [train(alone(name)).message.state for name in ROWS]
    memory, _ = run.memories.gather(np.arange(2))
    for number, state in enumerate(own):
        assert pytrees.largest_difference(pytrees.row(memory["state"], number), state) < 1e-6
    fresh = method.newcomer(task, run.message, None, None)
    assert pytrees.largest_difference(fresh["state"], run.message.state) == 0
    models = [run.message._replace(state=state) for state in own]
    losses = [task.losses(model, *ROWS[name]).mean() for model, name in zip(models, ROWS, strict=True)]
    assert np.allclose(run.evaluate("train")["loss"], losses, atol=1e-5)


def test_kept_statistics_survive_a_second_round(together):
    """A client goes on from its own: its statistics follow those of nobody else."""
    frozen = FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.0))
    run = train(TWO, "local", frozen, rounds=2)
    own = [train(alone(name), algorithm=frozen, rounds=2).message.state for name in ROWS]
    memory, _ = run.memories.gather(np.arange(2))
    assert pytrees.largest_difference(memory["state"], pytrees.stack(own)) < 1e-6


def test_an_engine_that_would_average_is_refused():
    task = Task.of(TWO, Net(), state="local")
    engine = LocalEngine(Setting(TWO, task, FedAvg(work=WORK), 0))
    with pytest.raises(ConfigError, match="do not keep the model's state"):
        unalike.train(TWO, task, FedAvg(work=WORK), rounds=1, engine=engine)


def test_fedbn_keeps_statistics_with_their_layers():
    method = algorithm_registry.make("fedbn", work=WORK)
    task = Task.of(TWO, Net(), state="average")
    shared = method.init(task, jax.random.key(0))["params"]
    assert not jax.tree.leaves(shared.state)
    assert set(shared.weights["BatchNorm_0"].values()) == {None}


@pytest.mark.parametrize("name", sorted(algorithm_registry))
def test_every_method_takes_state_or_says_that_it_does_not(name):
    method, task = algorithm_registry.make(name), Task.of(TWO, Net(), state="local")
    if method.takes_state:
        assert isinstance(keep_state(method, task), LocalState)
    else:
        with pytest.raises(ConfigError, match=f"^{re.escape(name)} has no rule for the state"):
            keep_state(method, task)
