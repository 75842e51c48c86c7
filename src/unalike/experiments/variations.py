"""What else may differ between the runs of a comparison?  (Settings that are varied.)

    --vary sampling=md,uniform --vary timing=synchronous,fedfix:0.5

is every sampling with every timing, for every method that is compared. Values that are made of words with
commas in them (an aggregator such as nnm:2,median) are given one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from ..core.catalogue import separate
from ..core.spec import number_or_word
from ..errors import ConfigError, unknown
from .config import Experiment, make_experiment

WITH_WORDS = ("aggregator", "drift", "groups", "data", "metrics")
"""Settings whose values may have words after a comma."""
NOTHING = "none"
"""The value of a setting that is not given."""


def vary(
    variants: Mapping[str, Experiment], words: Sequence[str], fixed: Sequence[str] = ()
) -> dict[str, Experiment]:
    """Every variant with every combination of values; `fixed` settings are those that all must share.

    >>> list(vary({"fedavg": Experiment()}, ["aggregator=median", "aggregator=krum:1", "l2=0.1"]))
    ['median, l2 0.1', 'krum:1, l2 0.1']
    """
    settings = varied(words, fixed)
    if not settings:
        return dict(variants)
    made: dict[str, Experiment] = {}
    for name, chosen in variants.items():
        for values in product(*settings.values()):
            named = [_called(setting, value) for setting, value in zip(settings, values, strict=True)]
            label = ", ".join([*([name] if len(variants) > 1 else []), *named])
            changed = {s: _typed(v) for s, v in zip(settings, values, strict=True)}
            made[label] = make_experiment({**chosen.model_dump(), **changed})
    return made


def varied(words: Sequence[str], fixed: Sequence[str] = ()) -> dict[str, list[str]]:
    """The values of every setting, in the order in which they were given.

    >>> varied(["timing=async,fedbuff:5", "timing=fedfix:0.5", "aggregator=nnm:2,median"])
    {'timing': ['async', 'fedbuff:5', 'fedfix:0.5'], 'aggregator': ['nnm:2,median']}
    """
    found: dict[str, list[str]] = {}
    for one in words:
        setting, given, value = one.partition("=")
        name = setting.strip().replace("-", "_")
        if not given or not value.strip():
            raise ConfigError(
                f"{one!r} does not say a value; write SETTING=VALUE, such as aggregator=median."
            )
        if name not in Experiment.model_fields:
            raise unknown("setting", name, Experiment.model_fields)
        if name in fixed:
            raise ConfigError(f"all runs of a comparison share {name}; it cannot be varied.")
        values = found.setdefault(name, [])
        several = [value.strip()] if name in WITH_WORDS else separate(value)
        values += [one for one in dict.fromkeys(several) if one not in values]
    return found


def folder_name(name: str) -> str:
    """A variant's name as the name of a folder.

    >>> folder_name("fedavg+"), folder_name("nnm:2,median, sign-flip")
    ('fedavg+', 'nnm-2-median-sign-flip')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "run"


def _called(setting: str, value: str) -> str:
    """What a value is called where it stands alone: words speak for themselves, numbers do not."""
    return value if isinstance(number_or_word(value), str) and value != NOTHING else f"{setting} {value}"


def _typed(value: str) -> str | int | float | None:
    return None if value == NOTHING else number_or_word(value)
