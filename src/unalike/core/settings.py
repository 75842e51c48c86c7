"""Settings of an experiment: a field with what help, servers and nodes need to know of it.

Every room has the settings of its own subject in `settings.py`; `experiments/config.py` composes them. What
used to be lists elsewhere is said where a setting is defined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

Number = int | float | str | bool
Served = Literal["server", "told", "node", "simulation", "refused"]
"""What becomes of a setting when real clients train: the server honors it; honors it and tells the nodes;
nodes have their own; only a simulation has it, which is said; it is refused."""
MANY, LARGEST_SEED = 10**9, 2**63 - 1
"""More clients, rows or rounds than this are a slip of the finger, and seeds have 64 bits."""
MOST_WORK = 10**6
"""Local passes or mini-batches of one round."""
_KEY = "unalike"


class Settings(BaseModel):
    """Fields that decide a run; nothing else is accepted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class SettingInfo:
    """What is known of a setting beside its type, default and description."""

    group: str
    """The heading under which help shows it."""
    kind: str | None = None
    """What it names, as `unalike list` calls it; None where it names nothing."""
    several: bool = False
    """Whether it holds several names, separated by commas."""
    served: Served = "server"
    decides_rows: bool = False
    """Whether it decides which rows clients have."""
    unlearning: bool = True
    """Whether a round is still the weighted mean of models that started from the same one, as unlearning
    requires."""


def setting(
    default: object,
    description: str,
    *,
    group: str,
    kind: str | None = None,
    several: bool = False,
    served: Served = "server",
    decides_rows: bool = False,
    unlearning: bool = True,
    **bounds: Any,
) -> Any:
    """A field of a :class:`Settings` class.

    Args:
        default: its value when not given.
        description: what help says of it.
        group: the heading under which help shows it.
        kind: what it names, as `unalike list` calls it.
        several: whether it holds several names.
        served: what becomes of it when real clients train.
        decides_rows: whether it decides which rows clients have.
        unlearning: whether clients can be forgotten when it is set.
        bounds: limits, as Pydantic's `Field` takes them.
    """
    about = SettingInfo(group, kind, several, served, decides_rows, unlearning)
    return Field(default, description=description, json_schema_extra={_KEY: cast(Any, about)}, **bounds)


def about(field: FieldInfo) -> SettingInfo:
    """What is known of a setting."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict), "a setting is made by setting()"
    return cast(SettingInfo, extra[_KEY])


def number_as_text(value: object) -> object:
    """A number as the text that a person would have typed; anything else as it is.

    >>> number_as_text(0.2), number_as_text("0.2")
    ('0.2', '0.2')
    """
    return str(value) if type(value) in (int, float) else value
