"""The compilation cache in memory: how many compiled programs are kept?

A program is compiled once for each method, model and shape, and takes some ten megabytes with all that JAX
remembers of how it was traced. JAX keeps them for as long as the process lives, so a series of trainings that
all differ (a tuning, a notebook, a test suite) would fill the memory. After some dozens, everything that was
compiled is forgotten between two trainings; the copies on disk make the next start quick.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

import jax

Given = ParamSpec("Given")
Program = TypeVar("Program")
EACH, TOGETHER = 16, 48
"""Programs that are kept of each kind, and of all kinds before all are forgotten."""
_built: list[str] = []


def cached_program(build: Callable[Given, Program]) -> Callable[Given, Program]:
    """A function that makes a program, and gives the same one for the same arguments."""

    @wraps(build)
    def counted(*given: Given.args, **named: Given.kwargs) -> Program:
        _built.append(build.__name__)
        return build(*given, **named)

    return lru_cache(maxsize=EACH)(counted)  # type: ignore[return-value]


def forget_programs(most: int | None = None) -> None:
    """Forget what was compiled, if it is more than that; call it when nothing is being computed."""
    if len(_built) <= (TOGETHER if most is None else most):
        return
    _built.clear()
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":  # the allocator keeps what was freed, unless it is told
        ctypes.CDLL(None).malloc_trim(0)
