"""Is a module of another library answered by what to do?"""

import equinox as eqx
import flax.linen as nn
import jax
import numpy as np
import pytest

from unalike import ConfigError, Task
from unalike.models import from_equinox, from_flax, from_torch, linear


class TorchModule:
    """As far as can be seen from outside, a module of PyTorch."""

    __module__ = "torch.nn.modules.module"


class TorchNet(TorchModule):
    """A user's own."""


class FlaxNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)


PERCEPTRON = eqx.nn.MLP(4, 3, 8, 1, key=jax.random.key(0))
MADE = [
    (TorchNet(), r"TorchNet is a PyTorch module, .*Task.of\(federation, module\), or give input_shape="),
    (FlaxNet(), r"FlaxNet is a Flax module, .*Task.of\(federation, module\), or give input_shape="),
    (FlaxNet, r"FlaxNet is the class of a Flax module; give a module, FlaxNet\(\.\.\.\)"),
    (3, "int is no model; choose one of unalike.models"),
    (linear, "function is no model"),
]


@pytest.mark.parametrize(("model", "words"), MADE)
def test_what_is_no_model_is_refused_in_a_sentence(model, words):
    for task in (lambda: Task.classification(model, 3), lambda: Task.regression(model)):
        with pytest.raises(ConfigError, match=words):
            task()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: from_flax(FlaxNet, (4,)), r"not its class; give FlaxNet\(\.\.\.\)"),
        (lambda: from_flax(PERCEPTRON, (4,)), "takes modules of flax, but this is one of equinox"),
        (lambda: from_flax(TorchNet(), (4,)), "takes modules of flax, but this is one of torch"),
        (lambda: from_torch(FlaxNet(), None), "takes modules of torch, but this is one of flax"),
        (lambda: from_equinox(FlaxNet()), "takes modules of equinox, but this is one of flax"),
    ],
)
def test_an_adapter_says_what_it_takes(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


def test_modules_go_in_through_their_adapters():
    for model in (from_flax(FlaxNet(), (4,)), from_equinox(lambda key: eqx.nn.MLP(4, 3, 8, 1, key=key))):
        task = Task.classification(model, 3)
        assert task.apply(task.init(jax.random.key(0)), np.ones((5, 4))).shape == (5, 3)
