"""Are settings that make no sense refused where they are made, in words?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms import (
    Algorithm,
    AnchoredGradient,
    FedAvg,
    FedAvgPlus,
    FedNova,
    FedProx,
    LocalWork,
    Optimizer,
    PerturbedGradient,
    Scaffold,
    algorithm_registry,
    optimizer_names,
    schedule_registry,
)
from unalike.errors import ConfigError


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Optimizer("sgd", -0.1), "learning rate must not be negative"),
        (lambda: Optimizer("sgd", float("nan")), "learning rate"),
        (lambda: Optimizer("adm", 0.1), "did you mean 'adam'"),
        (lambda: Optimizer("chain", 0.1), "unknown optimizer 'chain'"),
        (lambda: Optimizer.of("sgd", 0.1, {"beta": 1}), "does not take these options.*beta"),
        (lambda: Optimizer("sgd", 0.1, clip=-1.0), "clip"),
        (lambda: Optimizer("sgd", 0.1, clip=0.0), "clip"),
        (lambda: Optimizer("sgd", 0.1, schedule="decai"), "did you mean 'decay'"),
        (lambda: Optimizer("sgd", 0.1, schedule="cosine"), "cosine:rounds"),
        (lambda: Optimizer("sgd", 0.1, schedule="decay:1,2"), "wrong arguments"),
        (lambda: Optimizer("sgd", 0.1, schedule="decay:fast"), "decay:fast"),
        (lambda: LocalWork(epochs=1, steps=1), "either epochs or steps"),
        (lambda: LocalWork(epochs=-1), "epochs must not be negative"),
        (lambda: LocalWork(steps=-1), "steps must not be negative"),
        (lambda: LocalWork(batch_size=-1), "batch_size"),
        (lambda: FedProx(mu=-0.1), "mu must not be negative"),
        (lambda: FedProx(mu=2.0, optimizer=Optimizer("sgd", 0.5)), "mu times the learning rate .* below 1"),
        (lambda: FedNova(optimizer=Optimizer("adam", 0.1)), "plain sgd"),
        (lambda: FedNova(optimizer=Optimizer.of("sgd", 0.1, {"momentum": 0.9})), "plain sgd"),
        (lambda: PerturbedGradient(beta=0.0), "beta must be positive"),
        (lambda: AnchoredGradient(beta=-0.1), "between 0 and 1"),
        (lambda: AnchoredGradient(beta=float("nan")), "between 0 and 1"),
        (lambda: FedAvgPlus(tune_epochs=-1), "tune_epochs"),
        (lambda: FedAvgPlus(tune_learning_rate=-1.0), "learning rate"),
        (lambda: Scaffold(optimizer=Optimizer.of("sgd", 0.1, {"momentum": 0.9})), "plain sgd"),
        (lambda: Scaffold(optimizer=Optimizer("adam", 0.1)), "plain sgd"),
        (lambda: Scaffold(optimizer=Optimizer("sgd", 0.1, clip=1.0)), "plain sgd"),
        (lambda: algorithm_registry.make("fedavgg"), "did you mean 'fedavg'"),
    ],
)
def test_a_bad_setting_is_refused_in_words(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


@pytest.mark.filterwarnings("ignore:.*(deprecated|key will be required)")
@pytest.mark.parametrize("name", optimizer_names())
def test_every_named_optimizer_needs_nothing_but_gradients_and_parameters(name):
    transformation = Optimizer(name, 0.1).build()
    params = {"w": jnp.ones((3, 2)), "b": jnp.ones(2)}

    def step(gradient):
        updates, _ = transformation.update(gradient, transformation.init(params), params)
        return updates

    shapes = jax.eval_shape(step, params)
    assert jax.tree.map(jnp.shape, shapes) == jax.tree.map(jnp.shape, params)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("constant", lambda r: 1.0),
        ("decay:0.9", lambda r: 0.9**r),
        ("inverse-sqrt", lambda r: (r + 1) ** -0.5),
        ("inverse:4", lambda r: 4 / (4 + r)),
        ("steps:2,5", lambda r: 0.1 ** ((r >= 2) + (r >= 5))),
        ("steps", lambda r: 1.0),
        ("cosine:4", lambda r: 0.5 * (1 + np.cos(np.pi * min(r / 4, 1)))),
    ],
)
def test_schedules_are_the_functions_of_the_round_that_they_say(spec, expected):
    optimizer = Optimizer("sgd", 0.1, schedule=spec)
    for number in (0, 1, 2, 4, 7):
        assert float(optimizer.factor(jnp.asarray(number))) == pytest.approx(expected(number), abs=1e-6)


def test_all_schedules_are_explained():
    assert all(schedule_registry.explain().values())


def test_algorithms_are_values_that_can_be_compared_and_hashed():
    assert FedAvg(work=LocalWork(epochs=2)) == FedAvg(work=LocalWork(epochs=2))
    assert hash(FedProx(mu=0.2)) == hash(FedProx(mu=0.2))
    assert FedProx(mu=0.2) != FedProx(mu=0.3)
    assert FedProx(mu=0.0) != FedAvg()


@pytest.mark.parametrize("name", list(algorithm_registry))
def test_every_algorithm_has_defaults_that_work(name):
    made = algorithm_registry.make(name)
    assert isinstance(made, Algorithm)
    assert made.evaluation_work is not None


def test_a_user_who_forgets_a_function_is_told_which():
    class Mine(Algorithm):
        pass

    with pytest.raises(NotImplementedError, match=r"Mine must implement client\(\)"):
        Mine().client(None, None, None, None, None)
    with pytest.raises(NotImplementedError, match=r"Mine must implement aggregate\(\)"):
        Mine().aggregate(None, None, None)
