"""Does bringing convolutions into one layout leave every value and gradient as it was?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from unalike.models import Batch, Task, convolutional
from unalike.models.convolution_layout import canonical
from unalike.models.convolutional_networks import Convolution

from .filled import filled


def convolution(spec, **settings):
    def function(x, w):
        return jnp.sum(jnp.sin(lax.conv_general_dilated(x, w, dimension_numbers=spec, **settings)))

    return function


def arrays(image, kernel):
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in (image, kernel))


def closed_calls(x, w):
    return jax.jit(convolution(("NHWC", "HWIO", "NHWC"), window_strides=(1, 1), padding="SAME"))(x, w)


def with_activation(x, w):
    h = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.sum(jax.nn.relu(h) * jax.nn.gelu(h))


NHWC = ("NHWC", "HWIO", "NHWC")
CASES = {
    "plain": (convolution(NHWC, window_strides=(1, 1), padding="SAME"), (2, 6, 5, 2), (3, 3, 2, 4)),
    "strides": (convolution(NHWC, window_strides=(2, 3), padding="SAME"), (2, 7, 8, 2), (3, 2, 2, 4)),
    "uneven padding": (
        convolution(NHWC, window_strides=(2, 1), padding=((0, 1), (2, 0))),
        (2, 6, 5, 2),
        (3, 3, 2, 3),
    ),
    "dilated kernel": (
        convolution(NHWC, window_strides=(1, 1), padding="VALID", rhs_dilation=(2, 1)),
        (2, 7, 5, 2),
        (3, 3, 2, 3),
    ),
    "dilated image": (
        convolution(NHWC, window_strides=(1, 1), padding=((0, 0), (0, 0)), lhs_dilation=(1, 2)),
        (2, 5, 4, 2),
        (3, 3, 2, 3),
    ),
    "groups": (
        convolution(NHWC, window_strides=(1, 1), padding="SAME", feature_group_count=2),
        (2, 5, 5, 4),
        (3, 3, 2, 6),
    ),
    "depthwise": (
        convolution(NHWC, window_strides=(2, 2), padding="SAME", feature_group_count=3),
        (2, 5, 5, 3),
        (3, 3, 1, 6),
    ),
    "batch groups": (
        convolution(NHWC, window_strides=(1, 1), padding="SAME", batch_group_count=2),
        (4, 5, 5, 2),
        (3, 3, 2, 6),
    ),
    "channels first": (
        convolution(("NCHW", "OIHW", "NCHW"), window_strides=(1, 2), padding="SAME"),
        (2, 3, 6, 5),
        (4, 3, 3, 2),
    ),
    "strange layout": (
        convolution(("HNCW", "IHOW", "CWNH"), window_strides=(1, 1), padding="VALID"),
        (6, 2, 3, 5),
        (3, 3, 4, 2),
    ),
    "one dimension": (
        convolution(("NWC", "WIO", "NWC"), window_strides=(2,), padding="SAME"),
        (2, 9, 3),
        (4, 3, 2),
    ),
    "inside a jit": (closed_calls, (2, 5, 5, 2), (3, 3, 2, 3)),
    "activations": (with_activation, (2, 5, 5, 2), (3, 3, 2, 3)),
}


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_are_unchanged(case):
    function, image, kernel = CASES[case]
    both = jax.value_and_grad(function, argnums=(0, 1))
    given = arrays(image, kernel)
    expected, answer = jax.jit(lambda *a: (both(*a), canonical(both)(*a)))(*given)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(answer), strict=True):
        assert a.shape == b.shape
        assert np.allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_every_convolution_that_is_left_has_the_canonical_layout(case):
    function, image, kernel = CASES[case]
    both = jax.value_and_grad(function, argnums=(0, 1))
    traced = jax.make_jaxpr(canonical(both))(*arrays(image, kernel))
    found = [e for e in traced.eqns if e.primitive is lax.conv_general_dilated_p]
    before = str(jax.make_jaxpr(both)(*arrays(image, kernel))).count("= conv_general_dilated[")
    assert len(found) == before >= 3
    rank = len(image)
    space = tuple(range(1, rank - 1))
    for equation in found:
        numbers = equation.params["dimension_numbers"]
        assert numbers.lhs_spec == numbers.out_spec == (0, rank - 1, *space)
        assert numbers.rhs_spec == (rank - 1, rank - 2, *range(rank - 2))


@pytest.mark.parametrize("case", ["plain", "groups", "activations"])
def test_a_function_that_is_not_differentiated_is_unchanged_too(case):
    function, image, kernel = CASES[case]
    given = arrays(image, kernel)
    assert np.allclose(canonical(function)(*given), function(*given), rtol=1e-5)


def test_differentiating_after_the_rewriting_is_the_same():
    function, image, kernel = CASES["activations"]
    given = arrays(image, kernel)
    expected, answer = jax.jit(lambda *a: (jax.grad(function)(*a), jax.grad(canonical(function))(*a)))(*given)
    assert np.allclose(expected, answer, atol=1e-5)


@pytest.fixture(scope="module")
def problem():
    model = convolutional((6, 6, 1), 3, (Convolution(4, 3, True, "SAME"), Convolution(3, 2, False)), (5,))
    task = Task.classification(model, classes=3)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 6, 6, 1)).astype(np.float32)
    return task, filled(task), Batch.of(x, rng.integers(0, 3, 8))


def test_a_networks_loss_and_gradient_are_those_of_jax(problem):
    task, params, batch = problem
    expected, answer = jax.jit(
        lambda p: (jax.value_and_grad(task.loss)(p, batch), task.loss_and_gradient(p, batch))
    )(params)
    assert jax.tree.structure(expected) == jax.tree.structure(answer)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(answer), strict=True):
        assert np.allclose(a, b, atol=1e-6)


def test_descent_inside_a_loop_equals_descent_without_rewriting_and_loop(problem):
    task, params, batch = problem

    def step(p, gradient):
        return jax.tree.map(lambda a, g: a - 0.1 * g, p, gradient)

    inside = jax.jit(
        lambda p: lax.fori_loop(0, 4, lambda i, q: step(q, task.loss_and_gradient(q, batch)[1]), p)
    )(params)
    gradient = jax.jit(jax.grad(task.loss))
    outside = params
    for _ in range(4):
        outside = step(outside, gradient(outside, batch))
    for a, b in zip(jax.tree.leaves(inside), jax.tree.leaves(outside), strict=True):
        assert np.allclose(a, b, atol=1e-6)


def test_a_function_without_convolutions_is_traced_once_and_is_the_same_program():
    calls = []

    def function(tree, scale):
        calls.append(scale)
        return {"answer": [tree["a"] * scale]}

    tree = {"a": jnp.arange(3.0)}
    assert np.array_equal(canonical(function)(tree, 2.0)["answer"][0], [0.0, 2.0, 4.0])
    assert len(calls) == 1
    plain = str(jax.make_jaxpr(lambda a: function({"a": a}, 2.0))(tree["a"]))
    assert str(jax.make_jaxpr(lambda a: canonical(function)({"a": a}, 2.0))(tree["a"])) == plain


def test_where_nothing_is_compiled_the_function_is_called_as_it_is():
    with jax.disable_jit():
        assert canonical(lambda scale: type(scale))(2.0) is float


def test_arguments_and_answers_may_be_trees_with_holes():
    def function(tree, hole):
        h = lax.conv_general_dilated(tree["x"], tree["w"], (1, 1), "SAME", dimension_numbers=NHWC)
        return {"sum": h.sum(), "nothing": None, "constant": 3.0}

    x, w = arrays((1, 4, 4, 1), (3, 3, 1, 1))
    answer = canonical(function)({"x": x, "w": w}, None)
    assert set(answer) == {"sum", "nothing", "constant"}
    assert answer["nothing"] is None
    assert float(answer["constant"]) == 3.0
