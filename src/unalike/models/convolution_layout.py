"""Convolution layout: fast convolutions inside compiled loops.

XLA's CPU back end brings convolutions into the one layout its fast kernels know (batch, space, channels)
only at the top level of a program. Inside a loop body, the two convolutions of the backward pass keep the
layouts that differentiation gave them and fall to a kernel that is 20 to 30 times slower. :func:`canonical`
rewrites a function so that every convolution in it, forward and backward, is already in that layout. The
arithmetic is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from ..typing import Leaf, PyTree

_CALLS = ("jit", "pjit", "closed_call", "core_call")


def canonical(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """`function` with its convolutions in (batch, space, channels) layout, also after differentiation."""

    def rewritten(*arguments: PyTree) -> PyTree:
        if jax.config.jax_disable_jit:  # type: ignore[attr-defined]  # nothing is compiled: no loop is slow
            return function(*arguments)
        jaxpr, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
        run = _evaluate if _has_convolution(jaxpr.jaxpr) else jax.core.eval_jaxpr
        leaves = run(jaxpr.jaxpr, jaxpr.consts, *jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(shape), leaves)

    return rewritten


def _has_convolution(jaxpr: Jaxpr) -> bool:
    return any(
        equation.primitive is lax.conv_general_dilated_p
        or (equation.primitive.name in _CALLS and _has_convolution(_inner(equation).jaxpr))
        for equation in jaxpr.eqns
    )


def _inner(equation: JaxprEqn) -> ClosedJaxpr:
    return equation.params.get("jaxpr") or equation.params["call_jaxpr"]


def _evaluate(jaxpr: Jaxpr, constants: Sequence[Leaf], *arguments: Leaf) -> list[Leaf]:
    """Run a traced program, equation by equation, exchanging its convolutions."""
    values: dict[Var, Leaf] = dict(zip(jaxpr.constvars, constants, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))

    def read(variable: Var | Literal) -> Leaf:
        return variable.val if isinstance(variable, Literal) else values[variable]

    for equation in jaxpr.eqns:
        inputs = [read(variable) for variable in equation.invars]
        values.update(zip(equation.outvars, _apply(equation, inputs), strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _apply(equation: JaxprEqn, inputs: list[Leaf]) -> list[Leaf]:
    if equation.primitive is lax.conv_general_dilated_p:
        return [_convolve(*inputs, **equation.params)]
    if equation.primitive.name in _CALLS:
        inner = _inner(equation)
        return _evaluate(inner.jaxpr, inner.consts, *inputs)
    answer = equation.primitive.bind(*inputs, **equation.primitive.get_bind_params(equation.params))
    return list(answer) if equation.primitive.multiple_results else [answer]


def _convolve(
    image: jax.Array, kernel: jax.Array, *, dimension_numbers: lax.ConvDimensionNumbers, **settings: Any
) -> jax.Array:
    """The same convolution with transposes around it, so that its own layout is the canonical one."""
    rank = image.ndim
    space = tuple(range(1, rank - 1))
    batch, feature, *image_space = dimension_numbers.lhs_spec
    out_feature, in_feature, *kernel_space = dimension_numbers.rhs_spec
    answer = lax.conv_general_dilated_p.bind(
        lax.transpose(image, (batch, *image_space, feature)),
        lax.transpose(kernel, (*kernel_space, in_feature, out_feature)),
        dimension_numbers=lax.ConvDimensionNumbers(
            (0, rank - 1, *space), (rank - 1, rank - 2, *range(rank - 2)), (0, rank - 1, *space)
        ),
        **settings,
    )
    order = dict(zip(dimension_numbers.out_spec, (0, rank - 1, *space), strict=True))
    return lax.transpose(answer, tuple(order[axis] for axis in range(rank)))
