"""Registries of named objects.

A :class:`Registry` maps the names that people type (`dirichlet:0.3`, `mlp:200,200`) to makers, with a short
explanation that `unalike list` prints. What is typed is a :class:`~unalike.core.spec.Spec`. A registry that
is listed knows all names of its table (:mod:`.names`), and imports a maker's module when it is first asked
for.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from ..errors import ConfigError, unknown
from .names import first_sentence, names_of_kind
from .spec import Spec

T = TypeVar("T")
Maker = TypeVar("Maker", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Makers by name.

    >>> shapes = Registry("shape")
    >>> @shapes.add("square")
    ... def square(side: float = 1.0) -> float:
    ...     "A square; `square:2` has side 2."
    ...     return side * side
    >>> shapes.make("square:3")
    9
    """

    def __init__(self, kind: str, listed: str = "") -> None:
        self.kind, self.listed = kind, listed
        self._makers: dict[str, Callable[..., T]] = {}

    def add(self, name: str) -> Callable[[Maker], Maker]:
        """Register a maker under `name`; its docstring's first line is the explanation."""

        def register(maker: Maker) -> Maker:
            if not (name in self._makers and self._is_listed(name, maker)):  # a user's own maker stays
                self._makers[name] = maker
            return maker

        return register

    def __getitem__(self, name: str | Spec) -> Callable[..., T]:
        """The maker of a name, or of a specification's name."""
        name = _name(name)
        if name not in self._makers:
            if name not in names_of_kind(self.listed):
                raise unknown(self.kind, name, self)
            self._makers[name] = self._load(name)
        return self._makers[name]

    def __contains__(self, name: str | Spec) -> bool:
        return _name(name) in self._makers or _name(name) in names_of_kind(self.listed)

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(names_of_kind(self.listed)), **dict.fromkeys(self._makers)})

    def explain(self) -> dict[str, str]:
        """Each name with its one-line explanation: those of the table, then others in order."""
        listed = {name: entry.about for name, entry in names_of_kind(self.listed).items()}
        made = {name: first_sentence(inspect.getdoc(maker)) for name, maker in self._makers.items()}
        return {**listed, **made}

    def _load(self, name: str) -> Callable[..., T]:
        """Import what the table names."""
        entry = names_of_kind(self.listed)[name]
        try:
            maker: Callable[..., T] = getattr(importlib.import_module(entry.module), entry.attribute)
        except ImportError as error:
            raise ConfigError(f"{self.kind} {name!r} cannot be imported here ({error}).") from error
        return maker

    def _is_listed(self, name: str, maker: Callable[..., object]) -> bool:
        """Whether a maker is the one that the table has under a name."""
        entry = names_of_kind(self.listed).get(name)
        return entry is not None and (entry.module, entry.attribute) == (maker.__module__, maker.__qualname__)

    def make(self, spec: str | Spec, **context: Any) -> T:
        """Build from `name` or `name:argument,argument`; `context` fills the parameters that have those
        names."""
        spec = Spec.of(spec)
        maker = self[spec]
        parameters = inspect.signature(maker).parameters
        known = {k: v for k, v in context.items() if k in parameters}
        try:
            inspect.signature(maker).bind(*spec.arguments, **known)
        except TypeError as error:
            raise ConfigError(
                f"{self.kind} {spec.text!r} has wrong arguments ({error}): {usage(spec.name, maker)}."
            ) from None
        check_numbers(self.kind, spec, maker)
        return maker(*spec.arguments, **known)


def check_numbers(kind: str, spec: Spec, maker: Callable[..., object]) -> None:
    """No word follows the colon where the maker's annotation says that a number belongs, and no fraction or
    1e308 where a whole number does."""
    wanted = [p for p in inspect.signature(maker).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    repeated = (
        [wanted[-1]] * len(spec.arguments) if wanted and wanted[-1].kind is wanted[-1].VAR_POSITIONAL else []
    )
    for argument, parameter in zip(spec.arguments, wanted + repeated, strict=False):
        if isinstance(argument, float) and parameter.annotation in ("int", int):
            raise ConfigError(
                f"{kind} {spec.text!r} has {argument:g} where a whole number belongs: "
                f"{usage(spec.name, maker)}."
            )
        if isinstance(argument, str) and parameter.annotation in ("int", "float", int, float):
            raise ConfigError(
                f"{kind} {spec.text!r} has {argument!r} where a number belongs: {usage(spec.name, maker)}."
            )


def usage(name: str, maker: Callable[..., object]) -> str:
    """How the arguments after the colon are called, with their defaults."""
    positional = [p for p in inspect.signature(maker).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    words = [p.name if p.default is p.empty else f"{p.name}={p.default}" for p in positional]
    return f"{name}:{','.join(words)}" if words else name


def _name(given: str | Spec) -> str:
    return given.name if isinstance(given, Spec) else given
