"""Does every operator compute what PyTorch's does, with the same gradients?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")

from unalike.models.torch_operators import OPERATORS, Site, turn  # noqa: E402
from unalike.models.torch_operators.randomness import RANDOM  # noqa: E402

from .operator_cases import CASES, Draw, Fixed  # noqa: E402

ELSEWHERE = {
    *RANDOM,
    "aten.empty.memory_format",
    "aten.empty_permuted.default",
    "aten.empty_like.default",
    "aten._native_batch_norm_legit.no_stats",
    "unalike.stop_gradient.default",
}
"""What has no numbers to compare; the tests of modules have them."""
DRAWS = 2


def test_every_operator_is_tried():
    named = {name for name in OPERATORS if name.startswith(("aten.", "unalike."))}
    assert named - ELSEWHERE == set(CASES)


def is_array(thing):
    return isinstance(thing, np.ndarray | np.generic)


def map_arrays(function, thing):
    if is_array(thing):
        return function(np.asanyarray(thing))
    if isinstance(thing, list | tuple):
        return [map_arrays(function, part) for part in thing]
    return {k: map_arrays(function, v) for k, v in thing.items()} if isinstance(thing, dict) else thing


def arrays_in(thing):
    found = []
    map_arrays(found.append, thing)
    return found


def call_there(name, arguments):
    """PyTorch's outputs, and its gradients for cotangents that are cosines of places."""
    tensors = []

    def tensor(array):
        tensors.append(torch.from_numpy(array.copy()))
        return tensors[-1].requires_grad_(trained(array) and "copy" not in name)

    given = map_arrays(tensor, arguments)
    keywords = given.pop() if isinstance(given[-1], dict) else {}
    for key in ("dtype",):
        if key in keywords:
            keywords[key] = getattr(torch, keywords[key])
    given = [getattr(torch, part) if part == "float32" else part for part in given]
    space, function, overload = name.split(".")
    outputs = getattr(getattr(getattr(torch.ops, space), function), overload)(*given, **keywords)
    outputs = outputs if isinstance(outputs, tuple | list) else [outputs]
    read = [tensor for tensor in tensors if tensor.requires_grad]
    smooth = [o for o in outputs[: smooth_outputs(name)] if getattr(o, "requires_grad", False)]
    if not smooth or not read:
        return outputs, None
    slopes = [torch.from_numpy(cotangent(o.shape)) for o in smooth]
    gradients = torch.autograd.grad(smooth, read, slopes, allow_unused=True)
    return outputs, [
        np.zeros(t.shape, np.float32) if g is None else g.numpy()
        for g, t in zip(gradients, read, strict=True)
    ]


def smooth_outputs(name):
    """What a normalization gives beside its output is for PyTorch's own backward pass."""
    return 1 if "native" in name else None


def trained(array):
    """Not so running statistics, and zeros, which stand for the start of a recurrent layer in a graph."""
    return array.dtype == np.float32 and array.any() and not isinstance(array, Fixed)


def cotangent(shape):
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape).astype(np.float32)


def call_here(name, arguments, outputs):
    """The same in JAX."""
    arrays = arrays_in(arguments)
    places = [i for i, array in enumerate(arrays) if trained(array)]
    floats = [arrays[i] for i in places]
    known = [i for i, o in enumerate(outputs) if hasattr(o, "shape")]

    def function(values):
        exchanged = dict(zip(places, values, strict=True))
        number = iter(range(len(arrays)))

        def array(old):
            i = next(number)
            return exchanged.get(i, old)

        given = map_arrays(array, arguments)
        keywords = given.pop() if isinstance(given[-1], dict) else {}
        found = OPERATORS[name](Site(0, frozenset(range(5))), *given, **keywords)
        return [turn(one) for one in found] if isinstance(found, tuple | list) else [found]

    found = function([jnp.asarray(value) for value in floats])
    known = [i for i in known if found[i] is not None]
    smooth = [i for i in known[: smooth_outputs(name)] if outputs[i].requires_grad]
    gradients = None
    if smooth and floats:
        _, back = jax.vjp(
            lambda values: [function(values)[i] for i in smooth], [jnp.asarray(v) for v in floats]
        )
        gradients = back([jnp.asarray(cotangent(outputs[i].shape)) for i in smooth])[0]
    return found, gradients


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_pytorch_does(name):
    for seed in range(DRAWS):
        arguments = list(CASES[name](Draw(seed)))
        outputs, gradients = call_there(name, arguments)
        found, slopes = call_here(name, arguments, outputs)
        for theirs, ours in zip(outputs, found, strict=False):
            if ours is not None and theirs is not None:
                theirs = theirs.detach().numpy() if hasattr(theirs, "detach") else theirs
                assert np.shape(ours) == np.shape(theirs)
                np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
        if gradients is not None:
            for theirs, ours in zip(gradients, slopes, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=5e-5)


def test_numbers_of_rows_are_python_s():
    read = {name.partition(".")[2]: f for name, f in OPERATORS.items() if name.startswith("operator.")}
    assert (read["add"](None, 3, 4), read["floordiv"](None, 7, 2), read["mul"](None, 3, 4)) == (7, 3, 12)
    assert OPERATORS["torch.sym_max"](None, 3, 4) == 4
