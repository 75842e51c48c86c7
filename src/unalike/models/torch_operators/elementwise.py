"""Elementwise operators of PyTorch: arithmetic, comparisons, activations.

Slopes at kinks are PyTorch's: 0 where ReLU and hardtanh bend, 1 at the bounds of a clamp.
"""

from __future__ import annotations

import operator as python
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ...typing import Leaf
from .table import OPERATORS, Operator, operator

_ONE_ARGUMENT: dict[str, Operator] = {
    "neg": jnp.negative,
    "abs": jnp.abs,
    "exp": jnp.exp,
    "expm1": jnp.expm1,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "log2": jnp.log2,
    "log10": jnp.log10,
    "sqrt": jnp.sqrt,
    "rsqrt": lax.rsqrt,
    "reciprocal": jnp.reciprocal,
    "square": jnp.square,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": jnp.tan,
    "atan": jnp.arctan,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "erf": lax.erf,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "round": jnp.round,
    "trunc": jnp.trunc,
    "sign": jnp.sign,
    "isnan": jnp.isnan,
    "isinf": jnp.isinf,
    "logical_not": jnp.logical_not,
    "bitwise_not": jnp.bitwise_not,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "mish": jax.nn.mish,
    "log_sigmoid": jax.nn.log_sigmoid,
}
_TWO_ARGUMENTS: dict[str, Operator] = {
    "mul": jnp.multiply,
    "eq": jnp.equal,
    "ne": jnp.not_equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
    "remainder": jnp.remainder,
    "fmod": jnp.fmod,
    "bitwise_and": jnp.bitwise_and,
    "bitwise_or": jnp.bitwise_or,
    "bitwise_xor": jnp.bitwise_xor,
}
_SIZES = ("add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "eq", "ne", "lt", "le", "gt", "ge", "pow")

for _name, _function in _ONE_ARGUMENT.items():
    operator(f"aten.{_name}.default")(_function)
for _name, _function in _TWO_ARGUMENTS.items():
    operator(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_function)
for _name in ("maximum", "minimum", "logical_and", "logical_or", "logical_xor", "atan2"):
    operator(f"aten.{_name}.default")(getattr(jnp, "arctan2" if _name == "atan2" else _name))
for _name in _SIZES:  # of numbers that depend on how many rows there are
    operator(f"operator.{_name}")(getattr(python, _name))
operator("operator.getitem")(python.getitem)
operator("torch.sym_max")(max)
operator("torch.sym_min")(min)
operator("torch.sym_float")(float)
operator("torch.sym_int")(int)
OPERATORS["aten.log_sigmoid_forward.default"] = lambda site, x: (jax.nn.log_sigmoid(x), None)


@operator("aten.add.Tensor", "aten.add.Scalar")
def add(a: Leaf, b: Leaf, alpha: float = 1) -> jax.Array:
    return jnp.add(a, b if alpha == 1 else alpha * b)


@operator("aten.sub.Tensor", "aten.sub.Scalar")
def subtract(a: Leaf, b: Leaf, alpha: float = 1) -> jax.Array:
    return jnp.subtract(a, b if alpha == 1 else alpha * b)


@operator("aten.rsub.Tensor", "aten.rsub.Scalar")
def subtract_from(a: Leaf, b: Leaf, alpha: float = 1) -> jax.Array:
    return subtract(b, a, alpha)


@operator("aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode")
def divide(a: Leaf, b: Leaf, rounding_mode: str | None = None) -> jax.Array:
    if rounding_mode == "floor":
        return jnp.floor_divide(a, b)
    return jnp.trunc(jnp.true_divide(a, b)) if rounding_mode == "trunc" else jnp.true_divide(a, b)


@operator("aten.floor_divide.default")
def floor_divide(a: Leaf, b: Leaf) -> jax.Array:
    return jnp.floor_divide(a, b)


@operator("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def power(base: Leaf, exponent: Leaf) -> jax.Array:
    if isinstance(exponent, float) and exponent.is_integer():
        return lax.integer_pow(base, int(exponent))
    return jnp.power(base, exponent)


@operator("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(condition: Leaf, a: Leaf, b: Leaf) -> jax.Array:
    return jnp.where(condition, a, b)


@operator("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(x: jax.Array, mask: Leaf, value: Leaf) -> jax.Array:
    return jnp.where(mask, jnp.asarray(value, x.dtype), x)


@operator("aten.clamp.default", "aten.clamp.Tensor")
def clamp(x: jax.Array, min: Leaf = None, max: Leaf = None) -> jax.Array:  # noqa: A002 (PyTorch's names)
    if min is not None:
        x = jnp.where(x >= min, x, min)
    return x if max is None else jnp.where(x <= max, x, max)


@operator("aten.clamp_min.default")
def clamp_min(x: jax.Array, min: Leaf) -> jax.Array:  # noqa: A002
    return clamp(x, min)


@operator("aten.clamp_max.default")
def clamp_max(x: jax.Array, max: Leaf) -> jax.Array:  # noqa: A002
    return clamp(x, None, max)


@operator("aten.hardtanh.default")
def hardtanh(x: jax.Array, min_val: float = -1.0, max_val: float = 1.0) -> jax.Array:
    return jnp.where(x <= min_val, min_val, jnp.where(x >= max_val, max_val, x))


@operator("aten.relu6.default")
def relu6(x: jax.Array) -> jax.Array:
    return hardtanh(x, 0.0, 6.0)


@operator("aten.hardsigmoid.default")
def hardsigmoid(x: jax.Array) -> jax.Array:
    return hardtanh(x + 3.0, 0.0, 6.0) / 6.0


@operator("aten.hardswish.default")
def hardswish(x: jax.Array) -> jax.Array:
    return x * hardsigmoid(x)


@operator("aten.leaky_relu.default")
def leaky_relu(x: jax.Array, negative_slope: float = 0.01) -> jax.Array:
    return jnp.where(x > 0, x, negative_slope * x)


@operator("aten._prelu_kernel.default")
def prelu(x: jax.Array, slope: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, slope * x)


@operator("aten.elu.default")
def elu(x: jax.Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> jax.Array:
    low = alpha * jnp.expm1(input_scale * jnp.where(x > 0, 0.0, x))  # so that the unused branch stays finite
    return scale * jnp.where(x > 0, x, low)


@operator("aten.celu.default")
def celu(x: jax.Array, alpha: float = 1.0) -> jax.Array:
    return elu(x, alpha, 1.0, 1.0 / alpha)


@operator("aten.selu.default")
def selu(x: jax.Array) -> jax.Array:
    return jax.nn.selu(x)


@operator("aten.gelu.default")
def gelu(x: jax.Array, approximate: str = "none") -> jax.Array:
    return jax.nn.gelu(x, approximate=approximate == "tanh")


@operator("aten.softplus.default")
def softplus(x: jax.Array, beta: float = 1.0, threshold: float = 20.0) -> jax.Array:
    return jnp.where(beta * x > threshold, x, jax.nn.softplus(beta * x) / beta)


@operator("aten.threshold.default")
def threshold(x: jax.Array, threshold: float, value: float) -> jax.Array:
    return jnp.where(x > threshold, x, value)


@operator("aten.glu.default")
def gated_linear_unit(x: jax.Array, dim: int = -1) -> jax.Array:
    return jax.nn.glu(x, dim)


@operator("aten.addcmul.default")
def add_product(x: jax.Array, a: Leaf, b: Leaf, value: float = 1) -> jax.Array:
    return x + value * (a * b)


@operator("aten.addcdiv.default")
def add_quotient(x: jax.Array, a: Leaf, b: Leaf, value: float = 1) -> jax.Array:
    return x + value * (a / b)


@operator("aten.lerp.Scalar", "aten.lerp.Tensor")
def interpolate_linearly(start: jax.Array, end: jax.Array, weight: Leaf) -> jax.Array:
    return start + weight * (end - start)


@operator("unalike.stop_gradient.default")
def stop_gradient(x: Any) -> jax.Array:
    return lax.stop_gradient(x)
