"""Do the layers of a built-in model tell all of it?"""

import jax
import pytest

from unalike.core.pytrees import by_path
from unalike.models import model_registry
from unalike.models.pytorch_state_dict import rename_tensors


@pytest.mark.parametrize("name", sorted(set(model_registry) - {"gaussian"}))
def test_every_parameter_is_one_layer_s(name):
    sizes = {"outputs": 10} if name in ("lstm", "gru", "rnn") else {"outputs": 10, "input_shape": (28, 28, 1)}
    model = model_registry.make(name, **sizes)
    found = [one.path for one in rename_tensors(model)]
    assert sorted(found) == sorted(by_path(jax.eval_shape(model.init, jax.random.key(0))))
    if model.head is not None:
        assert model.layers[-1].at == model.head
