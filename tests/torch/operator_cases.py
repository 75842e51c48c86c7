"""Arguments for every operator: shapes are drawn, numbers too."""

import numpy as np


class Fixed(np.ndarray):
    """What PyTorch does not differentiate."""


class Draw:
    """Random shapes and arrays."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def size(self, low=1, high=5):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=1, high=4):
        return tuple(self.size() for _ in range(self.size(low, high)))

    def floats(self, *shape):
        return self.rng.normal(size=shape or self.shape()).astype(np.float32)

    def positive(self, *shape):
        return (0.2 + self.rng.exponential(size=shape or self.shape())).astype(np.float32)

    def unit(self, *shape):
        return self.rng.uniform(0.05, 0.95, size=shape or self.shape()).astype(np.float32)

    def ints(self, high, *shape):
        return self.rng.integers(0, high, size=shape or self.shape())

    def booleans(self, *shape):
        return self.rng.random(size=shape or self.shape()) < 0.5

    def pair(self):
        """Two arrays of shapes that go together."""
        shape = self.shape()
        other = tuple(n if self.rng.random() < 0.7 else 1 for n in shape)[self.size(0, len(shape) - 1) :]
        return self.floats(*shape), self.floats(*other)


def _one(d):
    return (d.floats(),)


def _positive(d):
    return (d.positive(),)


def _any_pair(d):
    return d.pair()


def _number(d):
    return d.floats(), float(d.rng.normal())


def _whole_pair(d):
    shape = d.shape()
    return d.ints(9, *shape), d.ints(9, *shape)


def _booleans(d):
    shape = d.shape()
    return d.booleans(*shape), d.booleans(*shape)


def _axis(d):
    x = d.floats(*d.shape(2, 4))
    return x, int(d.rng.integers(-x.ndim, x.ndim))


def _axes(d):
    x = d.floats(3, d.size(), 4)
    return x, [0, -1], bool(d.size(0, 1))


def _conv(d, dims, transposed=False):
    groups = d.size(1, 2)
    inputs, outputs = groups * d.size(1, 2), groups * d.size(1, 3)
    filters = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    kernel, stride, dilation = ([d.size(1, 3) for _ in range(dims)] for _ in range(3))
    padding = [d.size(0, 2) for _ in range(dims)]
    extra = [d.size(0, max(s, w) - 1) for s, w in zip(stride, dilation, strict=True)]
    space = [d.size(7, 9) for _ in range(dims)]
    bias = d.floats(outputs) if d.size(0, 1) else None
    x = d.floats(d.size(2, 3), inputs, *space)
    output_padding = extra if transposed else [0] * dims
    return x, d.floats(*filters, *kernel), bias, stride, padding, dilation, transposed, output_padding, groups


def _pool(d, dims, ceil=None):
    kernel = [d.size(1, 3) for _ in range(dims)]
    padding = [d.size(0, k // 2) for k in kernel]
    ceil = bool(d.size(0, 1)) if ceil is None else ceil
    x = d.floats(2, 3, *(d.size(6, 9) for _ in range(dims)))
    return x, kernel, [d.size(1, 3) for _ in range(dims)], padding, ceil


def _max_pool(d, dims):
    x, kernel, stride, padding, ceil = _pool(d, dims)
    return x, kernel, stride, padding, [d.size(1, 2) for _ in range(dims)], ceil


def _recurrent(d, gates, states):
    units, inputs, layers, two, bias = d.size(2, 4), d.size(2, 4), d.size(1, 2), d.size(1, 2), d.size(0, 1)
    weights = []
    for layer in range(layers):
        for _ in range(two):
            wide = inputs if layer == 0 else two * units
            weights += [d.floats(gates * units, wide), d.floats(gates * units, units)]
            weights += [d.floats(gates * units), d.floats(gates * units)] if bias else []
    start = [d.floats(layers * two, 3, units) for _ in range(states)]
    if d.size(0, 1):
        start = [np.zeros_like(one) for one in start]
    first = bool(d.size(0, 1))
    x = d.floats(3, 5, inputs) if first else d.floats(5, 3, inputs)
    return x, start if states > 1 else start[0], weights, bool(bias), layers, 0.0, True, two == 2, first


def _attention(d):
    q, k, v = d.floats(2, 2, 4, 3), d.floats(2, 2, 5, 3), d.floats(2, 2, 5, 3)
    mask = [None, d.floats(4, 5), np.tril(np.ones((4, 5), bool))][d.size(0, 2)]
    return q, k, v, mask, 0.0, mask is None and bool(d.size(0, 1))


def _batch_norm(d, *more):
    c, x = d.size(1, 4), None
    x = d.floats(d.size(3, 5), c, *(d.size(2, 3) for _ in range(d.size(0, 2))))
    affine = (d.floats(c), d.floats(c)) if d.size(0, 1) else (None, None)
    return x, *affine, d.floats(c).view(Fixed), d.positive(c).view(Fixed), *more, 0.1, 1e-5


def _group_norm(d):
    groups, inside = d.size(1, 3), d.size(1, 2)
    c = groups * inside
    return d.floats(3, c, 4, d.size(2, 3)), groups, d.floats(c), d.floats(c), 1e-5


def _layer_norm(d):
    shape = [d.size(2, 4) for _ in range(d.size(1, 2))]
    return d.floats(3, *shape), shape, d.floats(*shape), d.floats(*shape), 1e-5


def _index(d):
    x = d.floats(4, 5, 3)
    return x, [[d.ints(4, 6)], [None, d.ints(5, 2, 2)], [d.ints(4, 3), d.ints(5, 3)]][d.size(0, 2)]


def _gather(d):
    x = d.floats(4, 5, 3)
    dim = d.size(0, 2)
    return x, dim, d.ints(x.shape[dim], 3, 4, 2)


def _topk(d):
    return d.rng.permutation(24).reshape(4, 6).astype(np.float32), d.size(1, 6), -1


CASES = {
    **{
        f"aten.{name}.default": _one
        for name in ("neg", "abs", "exp", "expm1", "square", "sin", "cos", "atan")
    },
    **{f"aten.{name}.default": _one for name in ("tanh", "sigmoid", "erf", "floor", "ceil", "trunc", "sign")},
    **{f"aten.{name}.default": _one for name in ("round", "isnan", "isinf", "logical_not", "relu", "silu")},
    **{
        f"aten.{name}.default": _one
        for name in ("mish", "log_sigmoid", "log_sigmoid_forward", "relu6", "selu")
    },
    **{f"aten.{name}.default": _one for name in ("hardtanh", "hardsigmoid", "hardswish", "gelu", "softplus")},
    **{
        f"aten.{name}.default": _one for name in ("elu", "celu", "leaky_relu", "clone", "alias", "contiguous")
    },
    **{f"aten.{name}.default": _one for name in ("sum", "mean", "prod", "amax", "amin", "max", "min")},
    **{
        f"aten.{name}.default": _one
        for name in ("argmax", "argmin", "any", "all", "lift_fresh_copy", "lift_fresh")
    },
    **{f"aten.{name}.default": _one for name in ("zeros_like", "ones_like", "squeeze")},
    **{
        f"aten.{name}.default": _positive
        for name in ("log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal")
    },
    **{
        f"aten.{name}.Tensor": _any_pair
        for name in ("add", "sub", "rsub", "mul", "eq", "ne", "lt", "le", "gt", "ge")
    },
    **{
        f"aten.{name}.Scalar": _number
        for name in ("add", "sub", "rsub", "mul", "eq", "ne", "lt", "le", "gt", "ge")
    },
    **{f"aten.{name}.default": _any_pair for name in ("maximum", "minimum", "atan2")},
    **{f"aten.{name}.default": _booleans for name in ("logical_and", "logical_or", "logical_xor")},
    **{f"aten.bitwise_{name}.Tensor": _whole_pair for name in ("and", "or", "xor")},
    **{f"aten.bitwise_{name}.Scalar": lambda d: (d.ints(9), 5) for name in ("and", "or", "xor")},
    **{
        f"aten.{name}.Tensor": lambda d: (d.floats(3, 4), d.positive(3, 4))
        for name in ("div", "remainder", "fmod")
    },
    **{f"aten.{name}.Scalar": lambda d: (d.floats(3, 4), 0.7) for name in ("div", "remainder", "fmod")},
    **{
        f"aten.div.{k}_mode": lambda d: (d.floats(3, 4), 0.7, {"rounding_mode": "floor"})
        for k in ("Tensor", "Scalar")
    },
    **{f"aten.{name}.dim": _axes for name in ("mean",)},
    **{f"aten.{name}.dim_IntList": _axes for name in ("sum",)},
    **{f"aten.{name}.dim": _axis for name in ("max", "min", "any", "all")},
    **{f"aten.{name}.dims": _axes for name in ("any", "all")},
    **{
        f"aten.{name}.correction": lambda d: (d.floats(3, 4, 2), [0, 2])
        for name in ("var", "std", "var_mean")
    },
    **{f"aten.{name}.default": lambda d: (*_axis(d), False) for name in ("_softmax", "_log_softmax")},
    **{f"aten.{name}.int": _axis for name in ("softmax", "log_softmax")},
    **{
        f"aten.upsample_nearest{n}d.vec": lambda d, n=n: (d.floats(2, 3, *(4, 5, 3)[:n]), [7, 4, 6][:n], None)
        for n in (1, 2, 3)
    },
    **{
        f"aten.upsample_{kind}{n}d.vec": lambda d, n=n: (
            d.floats(2, 3, *(4, 5, 3)[:n]),
            *(
                (None, bool(d.size(0, 1)), [1.5, 2.0, 2.5][:n])
                if d.size(0, 1)
                else ([7, 4, 6][:n], bool(d.size(0, 1)), None)
            ),
        )
        for kind, n in (("linear", 1), ("bilinear", 2), ("trilinear", 3))
    },
    **{
        f"aten.adaptive_max_pool{n}d.default": lambda d, n=n: (
            d.floats(2, 3, *(6, 7, 5)[:n]),
            [d.size(1, 4) for _ in range(n)],
        )
        for n in (1, 2, 3)
    },
    **{
        f"aten.{name}.default": lambda d, n=n: (
            d.floats(2, 3, *(6, 7, 5)[:n]),
            [d.size(1, 4) for _ in range(n)],
        )
        for name, n in (
            ("_adaptive_avg_pool2d", 2),
            ("adaptive_avg_pool2d", 2),
            ("_adaptive_avg_pool3d", 3),
            ("adaptive_avg_pool1d", 1),
        )
    },
    **{f"aten.avg_pool{n}d.default": lambda d, n=n: (*_pool(d, n), bool(d.size(0, 1))) for n in (1, 2, 3)},
    **{f"aten.max_pool{n}d_with_indices.default": lambda d, n=n: _max_pool(d, n) for n in (2, 3)},
    **{f"aten.{name}.default": lambda d: (d.floats(3, 4), d.floats(4, 2)) for name in ("mm", "matmul")},
    **{
        f"aten.{name}.default": lambda d: (d.floats(4, 4), d.size(0, 2) - 1)
        for name in ("tril", "triu", "diagonal")
    },
    **{f"aten.{name}.default": _axis for name in ("cumsum", "cumprod", "unsqueeze")},
    **{
        f"aten.{name}.default": lambda d: (d.floats(3, 4), [2, 6])
        for name in ("view", "reshape", "_unsafe_view")
    },
    **{f"aten.{name}.default": lambda d: ([2, d.size()], {"dtype": "float32"}) for name in ("zeros", "ones")},
    **{
        f"aten.{name}.default": lambda d: (
            d.floats(3, 4, 2),
            d.floats(3, 4, 2),
            d.positive(3, 4, 2),
            {"value": 0.5},
        )
        for name in ("addcmul", "addcdiv")
    },
    **{
        f"aten.lerp.{k}": lambda d, k=k: (
            d.floats(3, 2),
            d.floats(3, 2),
            0.3 if k == "Scalar" else d.floats(3, 2),
        )
        for k in ("Scalar", "Tensor")
    },
    **{
        f"aten.fill.{k}": lambda d, k=k: (d.floats(3, 2), 0.3 if k == "Scalar" else np.float32(2.0))
        for k in ("Scalar", "Tensor")
    },
    **{
        f"aten.masked_fill.{k}": lambda d, k=k: (
            d.floats(3, 2),
            d.booleans(3, 2),
            -2.0 if k == "Scalar" else np.float32(2.0),
        )
        for k in ("Scalar", "Tensor")
    },
    **{
        f"aten.where.{k}": lambda d, a=a, b=b: (
            d.booleans(3, 2),
            d.floats(3, 2) if a else 0.5,
            d.floats(3, 2) if b else 0.5,
        )
        for k, a, b in (("self", 1, 1), ("ScalarOther", 1, 0), ("ScalarSelf", 0, 1), ("Scalar", 0, 0))
    },
    **{
        f"aten.arange.{k}": lambda d, a=a: (*a, {"dtype": "int64"})
        for k, a in (("default", (5,)), ("start", (2, 7)), ("start_step", (1, 9, 3)))
    },
    "aten.tan.default": lambda d: (d.unit(),),
    "aten.bitwise_not.default": lambda d: (d.ints(9),),
    "aten.floor_divide.default": lambda d: (d.ints(9, 4), 1 + d.ints(4, 4)),
    "aten.pow.Tensor_Scalar": lambda d: (d.positive(), [2, 3.0, 0.5, -1.5][d.size(0, 3)]),
    "aten.pow.Tensor_Tensor": lambda d: (d.positive(3, 2), d.floats(3, 2)),
    "aten.pow.Scalar": lambda d: (1.7, d.floats(3, 2)),
    "aten.clamp.default": lambda d: (d.floats(4, 5), [None, -0.5][d.size(0, 1)], 0.5),
    "aten.clamp.Tensor": lambda d: (d.floats(4, 5), d.floats(4, 5) - 2, d.floats(4, 5) + 2),
    "aten.clamp_min.default": lambda d: (d.floats(4, 5), 0.1),
    "aten.clamp_max.default": lambda d: (d.floats(4, 5), 0.1),
    "aten._prelu_kernel.default": lambda d: (d.floats(3, 4, 2), d.floats(1, 4, 1)),
    "aten.threshold.default": lambda d: (d.floats(4, 5), 0.1, -3.0),
    "aten.glu.default": lambda d: (d.floats(3, 4), -1),
    "aten.bmm.default": lambda d: (d.floats(2, 3, 4), d.floats(2, 4, 5)),
    "aten.mv.default": lambda d: (d.floats(3, 4), d.floats(4)),
    "aten.dot.default": lambda d: (d.floats(4), d.floats(4)),
    "aten.linear.default": lambda d: (d.floats(2, 3, 4), d.floats(5, 4), [None, d.floats(5)][d.size(0, 1)]),
    "aten.addmm.default": lambda d: (
        d.floats(5),
        d.floats(3, 4),
        d.floats(4, 5),
        {"beta": 0.5, "alpha": 2.0},
    ),
    "aten.baddbmm.default": lambda d: (d.floats(2, 3, 5), d.floats(2, 3, 4), d.floats(2, 4, 5)),
    "aten.addmv.default": lambda d: (d.floats(3), d.floats(3, 4), d.floats(4)),
    "aten.embedding.default": lambda d: (d.floats(6, 3), d.ints(6, 2, 4), d.size(0, 3) - 1),
    "aten.convolution.default": lambda d: _conv(d, d.size(1, 3), bool(d.size(0, 1))),
    "aten._native_batch_norm_legit_no_training.default": _batch_norm,
    "aten._native_batch_norm_legit_functional.default": lambda d: _batch_norm(d, bool(d.size(0, 2))),
    "aten.layer_norm.default": _layer_norm,
    "aten.native_layer_norm.default": _layer_norm,
    "aten.rms_norm.default": lambda d: _layer_norm(d)[:3],
    "aten.group_norm.default": _group_norm,
    "aten.native_group_norm.default": lambda d: (
        d.floats(3, 6, 4, 2),
        d.floats(6),
        d.floats(6),
        3,
        6,
        8,
        2,
        1e-5,
    ),
    "aten.instance_norm.default": lambda d: (
        d.floats(3, 4, 5, 2),
        d.floats(4),
        d.floats(4),
        None,
        None,
        True,
        0.1,
        1e-5,
        False,
    ),
    "aten.im2col.default": lambda d: (d.floats(2, 3, 7, 6), [2, 3], [1, 2], [1, 0], [2, 1]),
    "aten.lstm.input": lambda d: _recurrent(d, 4, 2),
    "aten.gru.input": lambda d: _recurrent(d, 3, 1),
    "aten.rnn_tanh.input": lambda d: _recurrent(d, 1, 1),
    "aten.rnn_relu.input": lambda d: _recurrent(d, 1, 1),
    "aten.scaled_dot_product_attention.default": _attention,
    "aten.prod.dim_int": _axis,
    "aten.linalg_vector_norm.default": lambda d: (d.floats(3, 4), [2, 1, 3, float("inf")][d.size(0, 3)], [1]),
    "aten.logsumexp.default": lambda d: (d.floats(3, 4), [1]),
    "aten.sort.default": lambda d: (_topk(d)[0], 1, bool(d.size(0, 1))),
    "aten.topk.default": _topk,
    "aten.permute.default": lambda d: (d.floats(2, 3, 4), [2, 0, -2]),
    "aten.transpose.int": lambda d: (d.floats(2, 3, 4), 0, -1),
    "aten.t.default": lambda d: (d.floats(2, 3),),
    "aten.squeeze.dim": lambda d: (d.floats(2, 1, 3, 1), [1, 2, -1][d.size(0, 2)]),
    "aten.squeeze.dims": lambda d: (d.floats(2, 1, 3, 1), [1, -1]),
    "aten.expand.default": lambda d: (d.floats(3, 1), [2, -1, 4]),
    "aten.repeat.default": lambda d: (d.floats(3, 2), [2, 1, 3]),
    "aten.cat.default": lambda d: ([d.floats(3, 2), d.floats(3, 4)], -1),
    "aten.stack.default": lambda d: ([d.floats(3, 2), d.floats(3, 2)], 1),
    "aten.split.Tensor": lambda d: (d.floats(7, 2), 3),
    "aten.split_with_sizes.default": lambda d: (d.floats(3, 6), [1, 3, 2], 1),
    "aten.unbind.int": lambda d: (d.floats(3, 2), 1),
    "aten.slice.Tensor": lambda d: (
        d.floats(7, 5),
        1,
        1,
        [9223372036854775807, -1][d.size(0, 1)],
        d.size(1, 2),
    ),
    "aten.select.int": lambda d: (d.floats(4, 5), 1, -2),
    "aten.slice_scatter.default": lambda d: (d.floats(4, 5), d.floats(2, 5), 0, 1, 3),
    "aten.select_scatter.default": lambda d: (d.floats(4, 5), d.floats(4), 1, 2),
    "aten.index.Tensor": _index,
    "aten._unsafe_index.Tensor": _index,
    "aten.index_put.default": lambda d: (
        d.floats(4, 5),
        [d.rng.permutation(4)[:2]],
        d.floats(2, 5),
        bool(d.size(0, 1)),
    ),
    "aten._unsafe_index_put.default": lambda d: (d.floats(4, 5), [d.rng.permutation(4)[:2]], d.floats(2, 5)),
    "aten.index_select.default": lambda d: (d.floats(4, 5), 1, d.ints(5, 7)),
    "aten.gather.default": _gather,
    "aten.flip.default": lambda d: (d.floats(3, 4), [1]),
    "aten.roll.default": lambda d: (d.floats(3, 4), [1, -2], [0, 1]),
    "aten.constant_pad_nd.default": lambda d: (d.floats(3, 4, 5), [1, d.size(0, 2), -1, 2], 0.5),
    "aten.copy.default": lambda d: (d.floats(3, 4), d.floats(4)),
    "aten._to_copy.default": lambda d: (d.ints(5, 3), {"dtype": "float32"}),
    "aten.to.dtype": lambda d: (d.ints(5, 3), "float32"),
    "aten.full.default": lambda d: ([2, 3], 1.5),
    "aten.full_like.default": lambda d: (d.floats(2, 3), 1.5),
    "aten.scalar_tensor.default": lambda d: (1.5, {"dtype": "float32"}),
    "aten.one_hot.default": lambda d: (d.ints(4, 3), 4),
    "aten.sym_size.int": lambda d: (d.floats(2, 3), 1),
}
"""Functions of a :class:`Draw` that give arguments; a dictionary at the end holds keywords."""
