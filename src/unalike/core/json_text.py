"""JSON output of numbers that are not finite: as strings, because JSON has no such numbers.

`NaN`, `Infinity` and `-Infinity` are strings of these names, which Python's `float` and JavaScript's
`Number` read; `null` says that there is no such number at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_ready(value: object) -> Any:
    """A value that any JSON reader can read.

    >>> json_ready({"loss": math.nan, "bounds": (-math.inf, 1.5), "best": None})
    {'loss': 'NaN', 'bounds': ['-Infinity', 1.5], 'best': None}
    """
    if isinstance(value, Mapping):
        return {str(k): json_ready(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return json_ready(value.tolist())
    return number_text(value) if isinstance(value, float) and not math.isfinite(value) else value


def number_text(value: float) -> str:
    """The name of a number that is not finite, and any other number as text.

    >>> number_text(math.nan), number_text(-math.inf), number_text(0.5)
    ('NaN', '-Infinity', '0.5')
    """
    if math.isfinite(value):
        return f"{value:g}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
