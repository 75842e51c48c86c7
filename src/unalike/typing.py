"""Type aliases of arrays and pytrees, and the four roles of a pytree in a round.

State, Message, Upload and Memory are distinct types, so that a type checker refuses one in the place of
another. At run time each is the pytree itself: `State(tree)` returns `tree`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Float64s: TypeAlias = NDArray[np.float64]
Float32s: TypeAlias = NDArray[np.float32]
Int64s: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
ClientIds: TypeAlias = NDArray[np.int64]
"""Numbers of clients in their federation."""
Scalar: TypeAlias = "float | jax.Array"
"""A number, or an array of one on the device, traced or not."""

PyTree: TypeAlias = Any
"""Any nesting of dicts, lists and tuples of arrays."""
Leaf: TypeAlias = Any
"""What such a nesting holds: an array of the host or of the device, traced or not, or the shape of one."""
Params: TypeAlias = Any
"""The parameters of a model."""
Predictor: TypeAlias = Any
"""What a client predicts with: `Algorithm.predictor`."""

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | float | None"
"""What JSON can say."""
Row: TypeAlias = dict[str, Any]
"""A row of a table that people read: a number or a word by column."""
Event: TypeAlias = dict[str, Any]
"""What happened in a round: its `kind`, and numbers and words about it."""
Document: TypeAlias = dict[str, Any]
"""What a JSON or TOML file holds: words, numbers, lists and documents by name."""
Keywords: TypeAlias = dict[str, Any]
"""Keyword arguments of a call that are put together before it."""
Fields: TypeAlias = Mapping[str, Any]
"""A row, an event or a document, to read only."""
Config: TypeAlias = Mapping[str, Any]
"""The settings of a run by name, as `config.toml` has them."""
Report: TypeAlias = Mapping[str, Any]
"""What clients or a server report of a round: arrays by name."""
NamedColumns: TypeAlias = Mapping[str, Any]
"""Columns of a table by name, each an array, a list or a column of a data frame."""

if TYPE_CHECKING:
    import jax

    class _Tree:
        """A pytree with a role. `Memory({"control": zeros})` gives a pytree a role, for the type checker."""

        def __init__(self, tree: Any, /) -> None: ...
        def __getitem__(self, key: Any, /) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __contains__(self, key: Any, /) -> bool: ...
        def keys(self) -> Iterable[str]: ...
        def get(self, key: str, default: Any = None, /) -> Any: ...

    class State(_Tree):
        """What the server keeps from round to round."""

    class Message(_Tree):
        """What goes down to a client: `Algorithm.broadcast` of the state."""

    class Upload(_Tree):
        """What comes up from a client: `Reply.upload`."""

    class Memory(_Tree):
        """What a client keeps from round to round: `Reply.memory`."""

else:

    def _unchanged(tree: Any, /) -> Any:
        """The pytree itself: roles exist for type checkers only."""
        return tree

    State = Message = Upload = Memory = _unchanged
