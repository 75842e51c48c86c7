"""Do equal words give the same model, so that nothing is compiled twice?"""

import logging

import jax
import numpy as np
import pytest

import unalike
from unalike import Scaffold, Task
from unalike.models import linear, mlp
from unalike.models.catalog import ModelRegistry, model_registry

SHAPES = {"lstm": (20,), "gru": (20,), "rnn": (20,)}


@pytest.mark.parametrize("name", sorted(model_registry))
def test_equal_arguments_give_the_same_model(name):
    context = {"input_shape": SHAPES.get(name, (28, 28, 1)), "outputs": 10}
    model = model_registry.make(name, **context)
    assert model_registry.make(name, **context) is model
    assert model_registry.make(name, **{**context, "outputs": 9}) != model


def test_other_arguments_give_another_model():
    assert mlp(8, input_shape=(4,), outputs=2) is mlp(8, input_shape=(4,), outputs=2)
    models = [mlp(*w, input_shape=s, outputs=2) for w in ((8,), (9,), (8, 8)) for s in ((4,), (5,))]
    assert len({*models, linear(input_shape=(4,), outputs=2), linear(0, input_shape=(4,), outputs=2)}) == 8


def test_arguments_that_have_no_hash_are_taken_as_they_are():
    assert linear(input_shape=[4], outputs=2).init(jax.random.key(0))["w"].shape == (2, 4)


def test_what_is_no_model_is_made_anew():
    registry = ModelRegistry("model")

    @registry.add("module")
    def module(width: int = 1):
        return [width]  # as a module of another library: it holds weights, which belong to one training

    assert registry.make("module:3") == [3]
    assert registry.make("module:3") is not registry.make("module:3")


def test_errors_of_a_maker_are_not_hidden():
    registry = ModelRegistry("model")

    @registry.add("wrong")
    def wrong(width: int = 1):
        raise TypeError(f"width {width}")

    with pytest.raises(TypeError, match="width 3"):
        registry.make("wrong:3")


def test_equal_tasks_have_equal_hashes_and_others_differ():
    federation = unalike.load("digits", clients=3, samples=60)
    tasks = [Task.of(federation, "mlp:8") for _ in range(2)]
    assert tasks[0] == tasks[1]
    assert hash(tasks[0]) == hash(tasks[1])
    others = [Task.of(federation, "mlp:9"), Task.of(federation, "mlp:8", l2=0.1)]
    others.append(Task.of(federation, "mlp:8", metrics="f1"))
    assert all(other != tasks[0] for other in others)


def test_the_same_words_again_trace_and_compile_nothing(caplog):
    def train(seed, model="mlp:8"):
        federation = unalike.load("digits", partition="iid", clients=4, samples=200, seed=1)
        return unalike.train(federation, Task.of(federation, model), Scaffold(), rounds=2, seed=seed)

    first = train(0)
    with jax.log_compiles(), caplog.at_level(logging.WARNING, logger="jax"):
        again = train(0)
        train(1)
        assert not [line for line in caplog.messages if "ompil" in line or "tracing" in line]
        train(0, "mlp:7")
        assert [line for line in caplog.messages if "ompil" in line]
    for a, b in zip(jax.tree.leaves(first.message), jax.tree.leaves(again.message), strict=True):
        np.testing.assert_array_equal(a, b)
