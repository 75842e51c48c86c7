"""How long do functions take, next to each other?  (Medians of calls in turn; used by the other scripts.)"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def medians(functions: dict[str, Callable[[], Any]], times: int, warm_up: int = 2) -> dict[str, float]:
    """The median seconds of each function, called in turn, after some calls that are not counted."""
    for function in functions.values():
        for _ in range(warm_up):
            function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(times):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}
