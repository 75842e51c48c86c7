"""Which arrays and trees does an annotation mean?  (Types that the whole package shares.)"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]
Float32s = NDArray[np.float32]
ClientIds = NDArray[np.int64]
"""Numbers of clients in their federation."""
Tree = Any
