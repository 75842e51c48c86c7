"""Which arrays and pytrees does an annotation mean?  (Type aliases that the whole package shares.)

A pytree is nested dicts, lists and tuples of arrays. To a type checker all of them are the same; the names
tell a reader which of them a function takes and returns.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Float64s: TypeAlias = NDArray[np.float64]
Float32s: TypeAlias = NDArray[np.float32]
Int64s: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
ClientIds: TypeAlias = NDArray[np.int64]
"""Numbers of clients in their federation."""

PyTree: TypeAlias = Any
"""Any of the following, or a part of one."""
Params: TypeAlias = Any
"""The parameters of a model."""
State: TypeAlias = Any
"""What the server keeps from round to round."""
Message: TypeAlias = Any
"""What goes down to a client: `Algorithm.broadcast` of the state."""
Upload: TypeAlias = Any
"""What comes up from a client: `Reply.upload`."""
Memory: TypeAlias = Any
"""What a client keeps from round to round: `Reply.memory`."""
Predictor: TypeAlias = Any
"""What a client predicts with: `Algorithm.predictor`."""
