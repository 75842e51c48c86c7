"""Are models divided as their paths say, and do FedPer, FedRep and FedBN share exactly the shared part?

The linear model's intercepts stand for the private part: the last row of the naive model.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms import ClientData, FedAvg
from unalike.algorithms.fedbn import FedBN
from unalike.algorithms.fedper import FedPer
from unalike.algorithms.fedrep import FedRep
from unalike.algorithms.shared.layer_split import (
    join,
    name_contains,
    paths,
    repeat_batches,
    split,
    under_path,
    with_fixed,
)
from unalike.core import pytrees
from unalike.errors import ConfigError
from unalike.models import Batch, Task, mlp
from unalike.models.convolutional_networks import cnn
from unalike.models.normalized import cnn_norm, mlp_norm

from ...models.filled import filled
from .. import naive
from ..personalized import WORK, assert_agrees, descend, federation, rows, same_model, simulate, trained

BODY = np.ones((5, 1))
BODY[-1] = 0.0
HEAD = 1.0 - BODY
DEEP = mlp(3, 2, input_shape=(4,), outputs=3)


def test_a_model_is_divided_by_path_and_joined_again():
    params = filled(DEEP)
    shared, private = split(params, under_path("2", "0/b"))
    assert paths(private) == ["0/b", "2/b", "2/w"]
    assert sorted(paths(shared) + paths(private)) == paths(params)
    assert pytrees.size(shared) + pytrees.size(private) == pytrees.size(params)
    for one, other in ((shared, private), (private, shared)):
        assert pytrees.largest_difference(join(one, other), params) == 0


def test_a_path_is_matched_by_whole_steps_and_a_word_anywhere():
    assert [under_path("dense/1")(path) for path in ("dense/1", "dense/1/w", "dense/10/w", "a/dense/1")] == [
        *(True, True, False, False)
    ]
    assert not under_path()("w")
    assert [name_contains("norm")(path) for path in ("norm/0/scale", "LayerNorm_1/bias", "dense/0")] == [
        *(True, True, False)
    ]


def test_the_gradient_with_a_part_fixed_is_the_other_part_of_the_gradient():
    params, task = filled(DEEP), Task.classification(DEEP, 3, l2=0.1)
    batch = Batch.of(*rows(1))
    body, head = split(params, under_path("2"))

    @jax.jit
    def gradients(params, body, head):
        fixed = [with_fixed(task, b).loss_and_gradient(a, batch)[1] for a, b in ((body, head), (head, body))]
        return [split(task.loss_and_gradient(params, batch)[1], under_path("2")), fixed]

    whole, parts = gradients(params, body, head)
    assert pytrees.largest_difference(list(whole), parts) < 1e-7


def test_repeated_batches_come_in_the_same_order_again_whatever_the_padding():
    one = jnp.asarray(1)
    positions = jnp.array([[3], [4], [-1], [-1]])
    data = ClientData(
        jnp.arange(9.0),
        jnp.arange(9.0),
        None,
        None,
        0 * one,
        9 * one,
        2 * one,
        positions,
        one,
        jax.random.key(0),
        9,
    )
    walked = repeat_batches(data, 3).fold(lambda seen, batch: 10 * seen + batch.x[0], jnp.zeros(()))
    assert float(walked) == 343434
    nothing = repeat_batches(replace(data, steps=0 * one), 3).fold(
        lambda seen, batch: seen + 1, jnp.zeros(())
    )
    assert float(nothing) == 0


def with_intercept(body):
    """The body with the intercepts of the start, to compare it as a whole model."""
    return {"w": body["w"], "b": np.zeros(3)}


def body_of(theta):
    return BODY * theta


@pytest.mark.parametrize("method", [FedPer, FedBN])
def test_two_rounds_of_joint_training_and_a_newcomer_equal_the_paper(method):
    def client(theta, head, batches):
        end = descend(theta + head, batches)
        return BODY * end, HEAD * end

    expected = simulate(
        client,
        lambda theta, batches: HEAD * descend(theta, batches, moving=HEAD),
        lambda theta, head: theta + head,
        first=lambda theta: naive.zeros(),
    )
    assert_agrees(trained(method(work=WORK, private="b")), expected, with_intercept)


def test_two_rounds_of_training_in_turn_and_a_newcomer_equal_the_paper():
    def client(theta, head, batches):
        head = HEAD * descend(theta + head, batches * 4, 0.2, moving=HEAD)
        return BODY * descend(theta + head, batches, moving=BODY), head

    expected = simulate(
        client,
        lambda theta, batches: HEAD * descend(theta, batches * 3, 0.2, moving=HEAD),
        lambda theta, head: theta + head,
        first=lambda theta: naive.zeros(),
    )
    algorithm = FedRep(work=WORK, private="b", head_epochs=4, head_learning_rate=0.2, newcomer_epochs=3)
    assert_agrees(trained(algorithm), expected, with_intercept)


def test_with_nothing_private_it_is_fedavg():
    mine, plain = trained(FedPer(work=WORK, private="")), trained(FedAvg(work=WORK))
    assert same_model(mine.state["params"], plain.state["params"], atol=1e-7)
    assert np.allclose(mine.evaluate("test")["loss"], plain.evaluate("test")["loss"], atol=1e-6)


@pytest.mark.parametrize(
    ("method", "model", "private"),
    [
        (FedPer(), DEEP, ["2/b", "2/w"]),
        (FedRep(), cnn(input_shape=(8, 8), outputs=3), ["dense/1/b", "dense/1/w"]),
        (FedPer(private="0, 2/b"), DEEP, ["0/b", "0/w", "2/b"]),
        (FedBN(), mlp_norm(3, input_shape=(4,), outputs=3), ["norm/0/scale", "norm/0/shift"]),
        (
            FedBN(),
            cnn_norm(input_shape=(8, 8), outputs=3),
            [f"norm/{i}/{n}" for i in (0, 1) for n in ("scale", "shift")],
        ),
    ],
)
def test_the_server_has_what_is_shared_and_clients_what_is_private(method, model, private):
    task = Task.classification(model, 3)
    method.prepare(task, federation())
    state = jax.eval_shape(lambda key: method.init(task, key), jax.random.key(0))
    memory = jax.eval_shape(lambda key: method.init_client(task, state["params"], key), jax.random.key(0))
    assert paths(memory) == private
    assert sorted(paths(state["params"]) + private) == paths(jax.eval_shape(model.init, jax.random.key(0)))


@pytest.mark.parametrize(
    ("method", "model", "words"),
    [
        (FedPer(), None, r"fedper keeps the model's last layer .* does not say which; .*mlp.*\(b, w\)"),
        (FedRep(), None, r"fedrep keeps the model's last layer .* give private="),
        (FedRep(private="x"), None, r"private has 'x', but the model's parameters are b, w\."),
        (FedPer(private="0,1,2"), DEEP, "fedper would share nothing, for all parameters .* would be private"),
        (FedBN(), DEEP, "this model has none; choose mlp-norm, cnn-norm, mlp-bn or cnn-bn"),
        (FedBN(private="norm"), DEEP, "this model has none"),
    ],
)
def test_a_model_that_cannot_be_divided_is_refused_in_words(method, model, words):
    task = naive.task() if model is None else Task.classification(model, 3)
    with pytest.raises(ConfigError, match=words):
        method.prepare(task, federation())


def test_bad_settings_are_refused_in_words():
    for settings in ({"head_epochs": -1}, {"head_learning_rate": -1.0}, {"newcomer_epochs": -1}):
        with pytest.raises(ConfigError, match="must not be negative"):
            FedRep(**settings)
