"""The configuration of an experiment, for files and the command line.

An :class:`Experiment` is checked by Pydantic; every field is an option of `unalike run` and a key of a TOML
file, with the same name, default and explanation. The fields are those of the rooms' `settings.py`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import ValidationError, model_validator

from ..algorithms.settings import MethodSettings
from ..core.deprecation import rename_keys, warn_renamed
from ..core.plain_files import check_plain_file
from ..core.run_files import BESIDE, SEAL
from ..core.settings import SettingInfo, about
from ..core.spec import Spec
from ..data.settings import DataSettings, StreamSettings
from ..engine.settings import EngineSettings
from ..errors import ConfigError, unknown
from ..models.settings import ModelSettings
from ..participation.settings import ParticipationSettings
from ..privacy.settings import PrivacySettings
from ..timing.settings import TimingSettings
from ..topology.settings import NetworkSettings
from ..training.settings import RunSettings
from ..trust.settings import TrustSettings
from .outside_paths import check_file

if TYPE_CHECKING:
    from ..typing import Config, Document

DEFAULT_ROUNDS = 50


class Experiment(
    RunSettings,  # the last base has the first fields
    EngineSettings,
    PrivacySettings,
    TrustSettings,
    NetworkSettings,
    TimingSettings,
    ParticipationSettings,
    MethodSettings,
    ModelSettings,
    StreamSettings,
    DataSettings,
):
    """Everything that decides a run."""

    @model_validator(mode="before")
    @classmethod
    def _without_a_server(cls, values: Any) -> Any:
        """On a network, FedAvg is called DPASGD, unless another method is named."""
        networked = isinstance(values, dict) and values.get("network") is not None
        return {"algorithm": "dpasgd", **values} if networked else values

    @overload
    def spec(
        self, setting: Literal["data", "model", "engine", "timing", "staleness", "underlay"]
    ) -> Spec: ...

    @overload
    def spec(self, setting: str) -> Spec | None: ...

    def spec(self, setting: str) -> Spec | None:
        """What a setting names, and with which arguments; None where it is not given.

        >>> Experiment(model="mlp:200,200").spec("model").arguments
        (200, 200)
        """
        text = getattr(self, setting)
        return None if text is None else Spec.parse(text)

    @property
    def rounds_to_train(self) -> int | None:
        """The rounds, or None for as many as fit before `until`."""
        return self.rounds if self.rounds is not None or self.until is not None else DEFAULT_ROUNDS


ABOUT: Mapping[str, SettingInfo] = {name: about(field) for name, field in Experiment.model_fields.items()}
"""What is known of every setting beside its type, default and description."""


def settings_of(**asked: Any) -> tuple[str, ...]:
    """The settings of which all that is asked for is true.

    >>> settings_of(group="Model")
    ('model', 'state', 'l2', 'metrics')
    """
    return tuple(
        name for name, known in ABOUT.items() if all(getattr(known, k) == v for k, v in asked.items())
    )


def read_experiment(
    path: str | Path | None, overrides: Config | None = None, trust_file: bool = False
) -> Experiment:
    """The experiment that a TOML file describes, with some values replaced.

    Args:
        path: The file; None where all values are replaced, or usual.
        overrides: Values that replace those of the file.
        trust_file: Whether the file may name paths outside its folder, queries, and places to write.

    >>> read_experiment(None, {"rounds": 3}).rounds
    3
    """
    document = _read(Path(path)) if path is not None else {}
    for name in BESIDE:  # a run folder's configuration also says what it ran on
        document.pop(name, None)
    replaced = overrides or {}
    if path is not None and not trust_file and not _is_own(Path(path)):
        check_file(Path(path), {name: document[name] for name in document if name not in replaced})
    return make_experiment({**document, **replaced})


def _is_own(path: Path) -> bool:
    """Whether a file is of a run or a search whose folder is sealed with the user's key."""
    if not (path.parent / SEAL).is_file():
        return False
    from ..runs.seal import is_own_file  # after which JAX is imported

    return is_own_file(path)


RENAMED = {"behaviour": "behavior", "gaps": "missing"}
"""Keys that were called otherwise in older files and run folders."""
RENAMED_VALUES = {
    "realised": "realized",
    "centred-clipping": "centered-clipping",
    "fedavg-renormalised": "fedavg-renormalized",
}
"""What settings named before arguments were called otherwise."""


def make_experiment(values: Config) -> Experiment:
    """An experiment from values, with errors that a person understands; old names are read with a warning."""
    values = {name: _rename_value(value) for name, value in rename_keys(values, RENAMED, since="0.2").items()}
    for name in values:
        if name not in Experiment.model_fields:
            raise unknown("setting", name, Experiment.model_fields)
    try:
        return Experiment(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:1])
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise ConfigError(f"{name} = {first['input']!r} is not possible: {reason}.") from None


def _rename_value(value: Any) -> Any:
    """A value whose name was called otherwise, with its new name.

    >>> _rename_value("centered-clipping:1"), _rename_value(3)
    ('centered-clipping:1', 3)
    """
    if not isinstance(value, str):
        return value
    name, *arguments = value.split(":", 1)
    if name not in RENAMED_VALUES:
        return value
    warn_renamed(name, RENAMED_VALUES[name], since="0.2")
    return ":".join([RENAMED_VALUES[name], *arguments])


def _read(path: Path) -> Document:
    try:
        check_plain_file(path)
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror or error}).") from None
    except RecursionError:
        raise ConfigError(f"{path} is not a TOML file of settings: it is nested too deeply.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}.") from None
