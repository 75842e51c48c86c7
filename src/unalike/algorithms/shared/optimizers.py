"""Optimizers, and schedules of their learning rates over rounds.

Any Optax optimizer can be named. A client's optimizer starts afresh every round; the schedule multiplies
its steps by a factor that depends on the round.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from ...core.registry import Registry
from ...errors import ConfigError, unknown
from ...typing import Fields

LearningRateSchedule = Callable[[jax.Array], jax.Array]
schedule_registry: Registry[LearningRateSchedule] = Registry("schedule", "schedules")


@schedule_registry.add("constant")
def constant() -> LearningRateSchedule:
    """The same learning rate in every round."""
    return lambda round: jnp.ones(())


@schedule_registry.add("decay")
def decay(rate: float = 0.99) -> LearningRateSchedule:
    """Multiplied by `rate` after each round."""
    return lambda round: jnp.asarray(rate, jnp.float32) ** round


@schedule_registry.add("inverse-sqrt")
def inverse_sqrt() -> LearningRateSchedule:
    """Divided by the square root of the round number."""
    return lambda round: 1.0 / jnp.sqrt(round + 1.0)


@schedule_registry.add("inverse")
def inverse(rounds: float = 1.0) -> LearningRateSchedule:
    """Divided by 1 + round / rounds: half as large after that many rounds, then falling as 1/t."""
    if not rounds > 0:
        raise ConfigError(f"schedule 'inverse:{rounds}' needs a positive number of rounds.")
    return lambda round: 1.0 / (1.0 + round / rounds)


@schedule_registry.add("steps")
def steps(*milestones: float, factor: float = 0.1) -> LearningRateSchedule:
    """Multiplied by 0.1 at each of the given rounds: `steps:100,150`."""
    return lambda round: jnp.asarray(factor) ** sum(round >= milestone for milestone in milestones)


@schedule_registry.add("cosine")
def cosine(rounds: int) -> LearningRateSchedule:
    """From 1 down to 0 along half a cosine over the given number of rounds."""
    if rounds < 1:
        raise ConfigError(f"schedule 'cosine:{rounds}' needs at least one round.")
    return lambda round: 0.5 * (1.0 + jnp.cos(jnp.pi * jnp.minimum(round / rounds, 1.0)))


@dataclass(frozen=True, init=False)
class Optimizer:
    """An Optax optimizer by name, with its settings; what Optax calls by name can be given so.

    >>> Optimizer("sgd", 0.1, momentum=0.9) == Optimizer("sgd", 0.1, options=(("momentum", 0.9),))
    True
    """

    name: str = "sgd"
    learning_rate: float = 0.1
    """Inside a compiled program, a traced scalar: one program serves all rates."""
    schedule: str = "constant"
    clip: float | None = None
    """Gradients with a larger norm are scaled down to it."""
    options: tuple[tuple[str, Any], ...] = ()
    custom: optax.GradientTransformation | None = None
    """A user's own transformation, instead of a named one."""

    def __init__(
        self,
        name: str = "sgd",
        learning_rate: float = 0.1,
        schedule: str = "constant",
        clip: float | None = None,
        options: tuple[tuple[str, Any], ...] = (),
        custom: optax.GradientTransformation | None = None,
        **more: Any,
    ) -> None:
        given = tuple(options) if not more else tuple(sorted((dict(options) | more).items()))
        settings = {"name": name, "learning_rate": learning_rate, "schedule": schedule, "clip": clip}
        for field, value in {**settings, "options": given, "custom": custom}.items():
            object.__setattr__(self, field, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.name, str):
            raise ConfigError(f'an optimizer has a name, such as Optimizer("sgd", 0.1), not {self.name!r}.')
        if not _is_number(self.learning_rate):
            raise ConfigError(f"the learning rate must be a number, but is {self.learning_rate!r}.")
        if not isinstance(self.schedule, str):
            raise ConfigError(f"schedule must be a name, such as decay:0.99, but is {self.schedule!r}.")
        if not (self.clip is None or _is_number(self.clip)):
            raise ConfigError(f"clip must be a number, but is {self.clip!r}.")
        for option, value in self.options:
            if isinstance(value, str) and "dtype" not in option:
                raise ConfigError(f"{option} must be a number, but is {value!r}.")
        if not isinstance(self.learning_rate, jax.core.Tracer) and not self.learning_rate >= 0:
            raise ConfigError(f"the learning rate must not be negative, but is {self.learning_rate}.")
        if self.clip is not None and not self.clip > 0:
            raise ConfigError(f"clip must be positive, but is {self.clip}.")
        self.build()
        schedule_registry.make(self.schedule)

    @classmethod
    def of(cls, name: str, learning_rate: float, options: Fields | None = None, **rest: Any) -> Optimizer:
        """The same with options as a mapping."""
        return cls(name, learning_rate, options=tuple(sorted((options or {}).items())), **rest)

    def build(self) -> optax.GradientTransformation:
        """The Optax transformation (without the schedule)."""
        inner = self.custom
        if inner is None:
            maker = optimizer_maker(self.name)
            try:
                inner = maker(learning_rate=self.learning_rate, **dict(self.options))
            except TypeError as error:
                raise ConfigError(f"optimizer {self.name!r} does not take these options: {error}.") from None
        return optax.chain(optax.clip_by_global_norm(self.clip), inner) if self.clip else inner

    def factor(self, round: jax.Array | int) -> jax.Array:
        """The schedule's multiplier in a round."""
        return schedule_registry.make(self.schedule)(jnp.asarray(round))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or (hasattr(value, "dtype") and not value.shape)


def optimizer_names() -> list[str]:
    """The optimizers of Optax that need a learning rate, gradients, and nothing else."""
    return sorted(name for name in dir(optax) if _is_optimizer(name))


def optimizer_maker(name: str) -> Callable[..., optax.GradientTransformation]:
    """The Optax function of that name, if it is an optimizer."""
    if not _is_optimizer(name):
        raise unknown("optimizer", name, optimizer_names())
    return getattr(optax, name)


def _is_optimizer(name: str) -> bool:
    maker = getattr(optax, name, None)
    if not inspect.isfunction(maker) or name.startswith("scale_by") or name in _NEED_MORE:
        return False
    parameters = inspect.signature(maker).parameters
    required = {
        p.name for p in parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    return "learning_rate" in parameters and required <= {"learning_rate"}


_NEED_MORE = ("lbfgs",)
"""L-BFGS also wants the loss as a function."""

PLAIN = Optimizer("sgd", 1.0)
"""The server takes the average as it is."""


def is_plain(optimizer: Optimizer) -> bool:
    """Whether it is that one; an optimizer whose rate is traced is not."""
    return not isinstance(optimizer.learning_rate, jax.core.Tracer) and optimizer == PLAIN
