"""Traced learning rates: arguments of the compiled program instead of constants in it.

Ten learning rates are one program that is told ten numbers: a method is split into a template, equal for all
rates, and the rates of its optimizers, which are arguments of what is compiled.

    split_rates(method)           ->  template, (0.1, 1.0)
    fill_rates(template, traced)  ->  the method, with traced rates, inside the program

Rates go in as weakly typed scalars, like the numbers that are written in Python: types and roundings stay. A
method that needs a rate as a Python number says so (`static_rates`) or is found out when it is traced; then
its rates are written into its program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, fields
from functools import lru_cache, wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import Sharding

from ..algorithms import Algorithm, Optimizer
from ..algorithms.shared.optimizers import is_plain
from ..typing import PyTree, Scalar
from .compilation_cache import cached_program

Owner = TypeVar("Owner")
Result = TypeVar("Result")
Rates = tuple[Scalar, ...]
"""Numbers, or scalars that are traced."""
KEPT = 64
"""Methods whose need of numbers is remembered."""
NUMBER_NEEDED = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""What JAX raises where Python asks for the number of a traced scalar."""


@dataclass(frozen=True)
class RatePlace:
    """Where a learning rate was taken out."""

    number: int


def split_rates(owner: Owner) -> tuple[Owner, Rates]:
    """A method, or a tuple that holds one, without its learning rates; and these, in order.

    >>> from unalike.algorithms import FedAvg, Optimizer
    >>> template, rates = split_rates(FedAvg(optimizer=Optimizer("sgd", 0.5)))
    >>> rates, template == split_rates(FedAvg(optimizer=Optimizer("sgd", 0.25)))[0]
    ((0.5,), True)
    """
    rates: list[Scalar] = []

    def take(optimizer: Optimizer) -> Optimizer:
        rate = optimizer.learning_rate
        rates.append(rate if isinstance(rate, jax.core.Tracer) else float(rate))
        return _with(optimizer, learning_rate=RatePlace(len(rates) - 1))

    return _map_optimizers(owner, take), tuple(rates)


def fill_rates(template: Owner, rates: Rates) -> Owner:
    """The same with learning rates; nothing is validated, for these may be traced."""

    def give(optimizer: Optimizer) -> Optimizer:
        place: object = optimizer.learning_rate
        return (
            _with(optimizer, learning_rate=rates[place.number]) if isinstance(place, RatePlace) else optimizer
        )

    return _map_optimizers(template, give)


def tell_rates(owner: Owner, run: Callable[[Owner, Rates], Result]) -> Result:
    """`run(template, rates)`; where that needs the numbers themselves, `run(owner, ())`."""
    template, rates = split_rates(owner)
    if any(isinstance(rate, jax.core.Tracer) for rate in rates):
        return run(template, rates)
    needed = _number_needed(template)
    if not needed:
        try:
            return run(template, rates)
        except NUMBER_NEEDED:
            if not rates:
                raise
            needed.append(True)
    return run(owner, ())


def rated_program(build: Callable[..., Callable[..., Result]]) -> Callable[..., Callable[..., Result]]:
    """A function that makes a program of what holds a method (its first argument), kept for all learning
    rates: it gets a template, and the program that it makes gets rates before everything else."""
    cached = cached_program(build)

    @wraps(build)
    def program(owner: object, *given: object) -> Callable[..., Result]:
        def told(*arguments: PyTree) -> Result:
            return tell_rates(owner, lambda template, rates: cached(template, *given)(rates, *arguments))

        return told

    program.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
    return program


def place_rates(rates: Rates, where: Sharding) -> Rates:
    """Rates on the devices, where they stay: to send a number takes longer than to start a small program."""
    return _place_rates(rates, where, bool(jax.config.jax_enable_x64))  # type: ignore[attr-defined]


@lru_cache(maxsize=KEPT)
def _place_rates(rates: Rates, where: Sharding, wide: bool) -> Rates:
    return tuple(jax.device_put(jnp.asarray(rate), where) for rate in rates)


@lru_cache(maxsize=KEPT)
def _number_needed(template: Hashable) -> list[bool]:
    """Not empty once a method has needed its rates as numbers."""
    return []


def _map_optimizers(value: Any, change: Callable[[Optimizer], Optimizer], name: str = "") -> Any:
    """The same with changed optimizers, wherever methods hold them. A server that takes the average as it is
    has no rate: its step is another one."""
    if isinstance(value, Optimizer):
        return value if name == "server_optimizer" and is_plain(value) else change(value)
    if isinstance(value, Algorithm) and not value.needs.static_rates:
        old = {field.name: getattr(value, field.name) for field in fields(value)}
        new = {key: _map_optimizers(one, change, key) for key, one in old.items()}
        return _with(value, **{key: one for key, one in new.items() if one is not old[key]})
    if isinstance(value, tuple):
        parts = [_map_optimizers(one, change) for one in value]
        if all(one is old for one, old in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _with(value: Owner, **changes: object) -> Owner:
    """A copy of a frozen dataclass with other values, which are not validated."""
    if not changes:
        return value
    made = copy(value)
    for name, new in changes.items():
        object.__setattr__(made, name, new)
    return made
