"""Exporting a PyTorch module to a graph of operators: the one place that calls PyTorch.

`torch.export` traces the module for mini-batches of any size; operators that PyTorch composes of others are
decomposed, but for those that have a whole counterpart here. What cannot be trained here is refused before
training, with the line of the module's code that it comes from.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Array
from .torch_graph import Graph, Operation, Value
from .torch_operators import OPERATORS
from .torch_operators.randomness import RANDOM

_WHOLE = {
    *("linear", "layer_norm", "group_norm", "instance_norm", "rms_norm", "scaled_dot_product_attention"),
    *("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"),
    *("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec"),
    *("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec"),
    *("silu", "mish", "log_sigmoid", "celu", "selu", "one_hot", "im2col", "adaptive_avg_pool1d"),
    *("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
}
"""Operators that are not decomposed."""
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)')
_NARROW = {"float64": "float32", "int64": "int32"}
_PAGE = "docs/from_pytorch.md"


def import_torch(purpose: str = "a PyTorch module") -> Any:
    """PyTorch, which is an extra."""
    return import_extra("torch", "torch", purpose)


def export_graph(module: Any, example: Any, training: bool) -> Graph:
    """The graph of a module in one of its modes; the module is brought into it.

    Args:
        module: A `torch.nn.Module`.
        example: A mini-batch as the module reads it.
        training: Whether it is the mode of training or of evaluation.
    """
    torch, name = import_torch(), type(module).__name__
    module.train(training)
    with warnings.catch_warnings(record=True) as caught, _without_custom_autograd(torch):
        warnings.simplefilter("always")
        try:
            sizes = ({0: torch.export.Dim.DYNAMIC},)
            program = torch.export.export(module, (example,), dynamic_shapes=sizes, strict=False)
            _mark_stops(torch, program.graph_module.graph)
            program = program.run_decompositions(_decompositions(torch))
        except ConfigError:
            raise
        except Exception as error:  # PyTorch has dozens of kinds
            raise ConfigError(_explain(name, error, torch)) from error
    _check_attributes(name, [str(warning.message) for warning in caught])
    return _Conversion(program, name, training, torch).graph()


def _decompositions(torch: Any) -> dict[Any, Any]:
    table = torch.export.default_decompositions()
    for op in list(table):
        if op.name().removeprefix("aten::") in _WHOLE:
            del table[op]
    return table


# What has no gradient -------------------------------------------------------------------------------------


def _mark_stops(torch: Any, graph: Any) -> None:
    """Write down where gradients stop (`detach`, `no_grad`), which decompositions forget."""
    stop, aten = _stop_gradient(torch), torch.ops.aten
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in (aten.detach.default, aten.detach_.default):
            node.target = stop
        elif node.target is torch.ops.higher_order.wrap_with_set_grad_enabled and node.args[0] is False:
            for part in list(node.users):
                with graph.inserting_after(part):
                    stopped = graph.call_function(stop, (part,))
                stopped.meta = dict(part.meta)
                part.replace_all_uses_with(
                    stopped, delete_user_cb=lambda user, stopped=stopped: user != stopped
                )


def _stop_gradient(torch: Any) -> Any:
    """An operator that decompositions leave alone."""
    if not hasattr(torch.ops.unalike, "stop_gradient"):
        library = torch.library.Library("unalike", "FRAGMENT")
        library.define("stop_gradient(Tensor x) -> Tensor")
        for backend in ("CompositeExplicitAutograd", "Meta"):
            library.impl("stop_gradient", lambda x: x.clone(), backend)
        _LIBRARIES.append(library)
    return torch.ops.unalike.stop_gradient.default


_LIBRARIES: list[Any] = []
"""PyTorch forgets operators whose library is not held."""


@contextmanager
def _without_custom_autograd(torch: Any) -> Iterator[None]:
    """A gradient of somebody's own would be lost, since only the forward pass is exported."""
    function = torch.autograd.Function
    original = function.__dict__["apply"]

    def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
        if cls.__module__.partition(".")[0] != "torch":
            raise ConfigError(
                f"the module uses {cls.__name__}, a torch.autograd.Function with a backward pass of its own, "
                "which cannot be exported; write its forward pass with PyTorch's operators."
            )
        return original.__get__(None, cls)(*args, **kwargs)

    function.apply = classmethod(apply)
    try:
        yield
    finally:
        function.apply = original


# Refusals -------------------------------------------------------------------------------------------------


def _check_attributes(name: str, said: list[str]) -> None:
    """Tensors that are kept as plain attributes are state that nobody knows of."""
    for words in said:
        if "assigned during export" in words:
            changed = [w for w in re.findall(r"self\.([\w.\[\]]+)", words) if "_flat_weights" not in w]
            if changed:
                raise ConfigError(
                    f"{name} changes self.{changed[0]} in its forward pass, which is no buffer; keep it by "
                    f"self.register_buffer({changed[0].rpartition('.')[2]!r}, ...), or leave it there."
                )


def _explain(name: str, error: Exception, torch: Any) -> str:
    """Why a module cannot be exported, in a sentence."""
    kind, said = type(error).__name__, str(error)
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if _is_users(frame.filename, torch)]
    where = f" ({Path(mine[-1].filename).name}, line {mine[-1].lineno}: `{mine[-1].line}`)" if mine else ""
    where = where or _where(said, torch)
    if "DataDependent" in kind or "data-dependent" in said:
        return (
            f"{name} decides by values of its inputs{where}, so that it is no fixed computation; choose by "
            "torch.where, or outside of forward."
        )
    if "onstraint" in kind or "onstraints violated" in said or "specialized" in said:
        return (
            f"{name} works for mini-batches of one size only{where}; take the number of rows from x.shape[0] "
            "or write -1."
        )
    first = next((line.strip() for line in said.splitlines() if line.strip()), kind)
    return f"{name} cannot be exported{where}: {kind}: {first[:300]}"


def _where(stack: str | None, torch: Any) -> str:
    """The last line of the user's own code in a stack of calls, as " (net.py, line 3: `...`)"."""
    frames = [frame for frame in _FRAME.findall(stack or "") if _is_users(frame[0], torch)]
    return f" ({Path(frames[-1][0]).name}, line {frames[-1][1]}: `{frames[-1][2].strip()}`)" if frames else ""


def _is_users(file: str, torch: ModuleType) -> bool:
    inside = (str(Path(str(torch.__file__)).parent), str(Path(__file__).parents[1]), "torch/", "<")
    return not file.startswith(inside) and "/contextlib.py" not in file and "/copy.py" not in file


# Conversion -----------------------------------------------------------------------------------------------


class _Conversion:
    """From PyTorch's graph to plain data."""

    def __init__(self, program: Any, name: str, training: bool, torch: Any) -> None:
        self.program, self.name, self.training, self.torch = program, name, training, torch
        self.numbers: dict[str, Value] = {}

    def graph(self) -> Graph:
        signature, nodes = self.program.graph_signature, list(self.program.graph.nodes)
        live = _live(nodes)
        for node in nodes:
            if node.op == "placeholder" or node.name in live:
                self.numbers[node.name] = Value(f"v{len(self.numbers)}")
        inputs, constants, rows = self._inputs(signature)
        operations = tuple(self._operation(node, live) for node in nodes if node.name in live)
        outputs = signature.output_specs
        changed = {spec.target: self._of(spec) for spec in outputs if "BUFFER_MUTATION" in str(spec.kind)}
        given = [spec for spec in outputs if "USER_OUTPUT" in str(spec.kind)]
        if len(given) != 1 or type(given[0].arg).__name__ != "TensorArgument":
            raise ConfigError(
                f"{self.name} gives {len(given)} results; its forward pass must return one tensor, with a "
                "row per sample."
            )
        for spec in outputs:
            if "MUTATION" in str(spec.kind) and spec.target not in changed:
                raise ConfigError(f"{self.name} writes into its inputs or parameters; work on a copy.")
        if changed and not self.training:
            raise ConfigError(
                f"{self.name} changes its buffer {next(iter(changed))!r} also when it predicts; change it "
                "only where self.training is true."
            )
        return Graph(inputs, constants, rows, operations, self._of(given[0]), changed)

    def _of(self, spec: Any) -> Value:
        return self.numbers[spec.arg.name]

    def _inputs(self, signature: Any) -> tuple[dict[str, str], dict[str, Array], str]:
        inputs: dict[str, str] = {}
        constants: dict[str, Array] = {}
        rows = []
        for spec in signature.input_specs:
            value = self.numbers[spec.arg.name].name
            if "USER_INPUT" in str(spec.kind):
                rows.append(value)
            elif "CONSTANT" in str(spec.kind):
                constants[value] = as_array(self.program.constants[spec.target])
            else:
                inputs[value] = spec.target
        if len(rows) != 1:
            raise ConfigError(
                f"{self.name} reads {len(rows)} inputs; its forward pass must take a mini-batch."
            )
        return inputs, constants, rows[0]

    def _operation(self, node: Any, live: set[str]) -> Operation:
        operator, line = _operator_name(node.target), _where(node.meta.get("stack_trace"), self.torch)
        if operator == "aten._local_scalar_dense.default":
            raise ConfigError(
                f"{self.name} reads a value of its inputs as a Python number{line}, so that it is no fixed "
                "computation; leave it a tensor."
            )
        if node.op != "call_function" or operator not in OPERATORS:
            raise ConfigError(
                f"{self.name} uses {operator}{line}, an operator that is not known here; write that with "
                f"others ({_PAGE} says what is)."
            )
        if operator in RANDOM and not self.training:
            raise ConfigError(
                f"{self.name} draws at random when it predicts{line}; draw only where self.training is true, "
                "such as F.dropout(x, p, self.training)."
            )
        used = {user.args[1] for user in node.users if "getitem" in str(user.target) and user.name in live}
        keywords = {name: self._plain(part) for name, part in node.kwargs.items()}
        return Operation(
            self.numbers[node.name].name,
            operator,
            tuple(self._plain(part) for part in node.args),
            {name: part for name, part in keywords.items() if part is not None},
            frozenset(index for index in used if isinstance(index, int)),
            line,
        )

    def _plain(self, thing: Any) -> Any:
        """An argument as plain data."""
        if hasattr(thing, "op") and hasattr(thing, "users"):
            return self.numbers[thing.name]
        if isinstance(thing, list | tuple):
            return tuple(self._plain(part) for part in thing)
        if isinstance(thing, self.torch.dtype):
            return str(thing).removeprefix("torch.")
        return thing if isinstance(thing, bool | int | float | str) else None


def _live(nodes: list[Any]) -> set[str]:
    """The nodes that the outputs depend on, without inputs."""
    wanted: set[str] = set()
    for node in reversed(nodes):
        if node.op == "output" or node.name in wanted:
            wanted |= {part.name for part in node.all_input_nodes}
    return wanted - {node.name for node in nodes if node.op == "placeholder"}


def _operator_name(target: Any) -> str:
    """Such as "aten.relu.default", "operator.mul" or "torch.sym_max"."""
    module, name = getattr(target, "__module__", ""), getattr(target, "__name__", str(target))
    if module == "_operator":
        return f"operator.{name}"
    if isinstance(target, str) or hasattr(target, "_overloadname"):
        return str(target)
    return f"torch.{name}" if name.startswith("sym_") else str(name)


def as_array(tensor: Any) -> Array:
    """A tensor as an array of its own, in a type that is used here."""
    found = tensor.detach().cpu().numpy()
    return found.astype(_NARROW.get(str(found.dtype), found.dtype))  # also where nothing changes, a copy
