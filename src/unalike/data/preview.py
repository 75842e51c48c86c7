"""Preview of a federation in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .train_test_split import PARTS

if TYPE_CHECKING:
    from .federation import Federation

_SHOWN = 5


def show_federation(federation: Federation) -> str:
    """A few lines: clients, rows, features, what is predicted, and where it came from."""
    rows = ", ".join(f"{len(getattr(federation, part).y):,} {part}" for part in PARTS)
    lines = [
        f"Federation of {len(federation):,} clients{_in_brackets(federation.names)}",
        f"  rows: {rows}",
        f"  features: {federation.train.x.dtype} of shape {federation.input_shape}"
        f"{_in_brackets(federation.columns)}",
        f"  target: {_target(federation)}",
    ]
    if federation.groups is not None:
        names = sorted(set(federation.groups))
        lines.append(f"  groups: {len(names):,}{_in_brackets(names)}")
    if federation.description:
        lines.append(f"  description: {_shorten(federation.description, 100)}")
    return "\n".join(lines)


def _target(federation: Federation) -> str:
    name = "" if federation.target is None else f"{_shorten(federation.target, 30)}, "
    if federation.classes is None:
        return f"{name}a regression"
    return f"{name}{federation.classes:,} classes{_in_brackets(federation.label_names)}"


def _in_brackets(names: Sequence[str] | None) -> str:
    if not names:
        return ""
    more = ", ..." if len(names) > _SHOWN else ""
    return f" ({', '.join(_shorten(name, 12) for name in names[:_SHOWN])}{more})"


def _shorten(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 3] + "..."
