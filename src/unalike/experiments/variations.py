"""Variations of a comparison: methods, and settings that are varied.

    --vary sampling=md,uniform --vary timing=synchronous,fedfix:0.5

is every sampling with every timing, for every method that is compared. A number after a comma is an argument
of the name before it (model=mlp:200,200,linear are two models), and so is a word that is no name
(hardware=spread:80,spread:80,shuffled are two); values that are made of names with commas in them (an
aggregator such as nnm:2,median) are given one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product

from ..core.catalog import explain, separate
from ..core.method_options import method_options
from ..core.spec import Spec, number_or_word
from ..errors import ConfigError, unknown
from ..typing import Keywords
from .config import ABOUT, Experiment, make_experiment

WITH_WORDS = (
    *("aggregator", "drift", "groups", "data", "metrics", "bandwidth", "central_dp", "local_dp", "dishonest"),
)
"""Settings whose values may have commas that are not a list's."""
SHARED = (
    *(
        "data",
        "label",
        "client_column",
        "drop",
        "keep_columns",
        "prepare",
        "missing",
        "partition",
        "clients",
        "sizes",
    ),
    *("samples", "skew", "test_fraction", "validation_fraction", "unseen", "watermark", "watermarked"),
    *("importance", "groups", "model", "state", "l2", "metrics", "seed", "evaluate_clients"),
    *("algorithm", "options"),
)
"""Settings that make a comparison fair because all methods share them."""
FIXED = ("seed", "algorithm", "options", "metrics", "evaluate_clients")
"""Settings without which nothing could be compared."""
_TRUTHS = {"true": True, "false": False}
NOTHING = "none"
"""The value of a setting that is not given."""


def vary(
    variants: Mapping[str, Experiment], words: Sequence[str], fixed: Sequence[str] = FIXED
) -> dict[str, Experiment]:
    """Every variant with every combination of values; `fixed` settings are those that all must share. What is
    a setting of some methods alone is varied for those.

    >>> list(vary({"fedavg": Experiment()}, ["aggregator=median", "aggregator=krum:1", "l2=0.1"]))
    ['median, l2 0.1', 'krum:1, l2 0.1']
    """
    options = {name: _options(chosen.algorithm) for name, chosen in variants.items()}
    settings = parse_variations(words, fixed, [option for own in options.values() for option in own])
    if not settings:
        return dict(variants)
    made: dict[str, Experiment] = {}
    for name, chosen in variants.items():
        mine = {s: values for s, values in settings.items() if s in Experiment.model_fields}
        mine |= {s: values for s, values in settings.items() if s in options[name]}
        for values in product(*mine.values()):
            pairs = dict(zip(mine, values, strict=True))
            several = len(variants) > 1 or not pairs
            label = [*([name] if several else []), *(_label_value(s, v) for s, v in pairs.items())]
            made[", ".join(label)] = _change_settings(chosen, pairs)
    return made


def parse_variations(
    words: Sequence[str], fixed: Sequence[str] = (), options: Sequence[str] = ()
) -> dict[str, list[str]]:
    """The values of every setting, in the order in which they were given; `options` are those of methods.

    >>> parse_variations(["timing=async,fedbuff:5", "timing=fedfix:0.5", "aggregator=nnm:2,median"])
    {'timing': ['async', 'fedbuff:5', 'fedfix:0.5'], 'aggregator': ['nnm:2,median']}
    """
    found: dict[str, list[str]] = {}
    for one in words:
        setting, given, value = one.partition("=")
        name = setting.strip() if setting.strip() in options else setting.strip().replace("-", "_")
        if not given or not value.strip():
            raise ConfigError(
                f"{one!r} does not say a value; write SETTING=VALUE, such as aggregator=median."
            )
        if name not in (*Experiment.model_fields, *options):
            raise unknown("setting", name, (*Experiment.model_fields, *options))
        if name == "algorithm":
            raise ConfigError("methods are compared by --algorithms, such as --algorithms fedavg,fedprox.")
        if name in fixed:
            raise ConfigError(f"all runs of a comparison share {name}; it cannot be varied.")
        values = found.setdefault(name, [])
        several = [value.strip()] if name in WITH_WORDS else _several(name, value)
        values += [one for one in dict.fromkeys(several) if one not in values]
    return found


def _several(setting: str, value: str) -> list[str]:
    """The values of a list; after a colon, a word that is no name of its kind is an argument, too.

    >>> _several("hardware", "equal,spread:80,spread:80,shuffled,none")
    ['equal', 'spread:80', 'spread:80,shuffled', 'none']
    """
    kind = ABOUT[setting].kind if setting in ABOUT else None
    names = None if kind is None else {*explain(kind), NOTHING}
    found: list[str] = []
    for word in separate(value):
        argument = names and found and ":" in found[-1] and Spec.parse(word).name not in names
        found[-1:] = [f"{found[-1]},{word}"] if argument else [*found[-1:], word]
    return found


def variant(experiment: Experiment, algorithm: str) -> Experiment:
    """The experiment with another algorithm.

    Options and settings may be meant for one method alone: `ditto.lam` is Ditto's `lam`,
    `fedem.learning_rate` the learning rate of FedEM. Options without a name before them are those of the
    experiment's own algorithm.

    >>> from unalike.experiments.config import make_experiment
    >>> described = make_experiment({"options": {"ditto.lam": 1.0, "fedem.learning_rate": 0.3}})
    >>> variant(described, "fedem").learning_rate, variant(described, "ditto").options
    (0.3, {'lam': 1.0})
    """
    options: Keywords = {}
    settings: Keywords = {}
    for name, value in experiment.options.items():
        owner, dot, short = name.rpartition(".")
        if not dot and algorithm == experiment.algorithm:
            options[name] = value
        elif dot and owner == algorithm:
            if short in SHARED:
                raise ConfigError(f"all methods share {short}; {name} cannot be set for one of them alone.")
            (settings if short in Experiment.model_fields else options)[short] = value
    values = {**experiment.model_dump(), **settings, "algorithm": algorithm, "options": options}
    return make_experiment(values)


def check_options(experiment: Experiment, names: Collection[str]) -> None:
    """Raise for options that none of these methods would get."""
    for option in experiment.options:
        owner, dot, _ = option.rpartition(".")
        if (owner if dot else experiment.algorithm) not in names:
            if dot:
                raise ConfigError(
                    f"the option {option} is for {owner}, which is not compared; "
                    f"choose from {', '.join(names)}."
                )
            raise ConfigError(
                f"the option {option} needs a method's name in front, such as {next(iter(names))}.{option}; "
                f"without one it is for {experiment.algorithm}, which is not compared."
            )


def folder_name(name: str) -> str:
    """A variant's name as the name of a folder.

    >>> folder_name("fedavg+"), folder_name("nnm:2,median, sign-flip")
    ('fedavg+', 'nnm-2-median-sign-flip')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "run"


def _label_value(setting: str, value: str) -> str:
    """What a value is called where it stands alone: words speak for themselves, numbers do not."""
    speaks = isinstance(number_or_word(value), str) and value not in (NOTHING, *_TRUTHS)
    return value if speaks else f"{setting.rpartition('.')[2]} {value}"


def _parse_value(value: str) -> str | int | float | bool | None:
    return None if value == NOTHING else _TRUTHS.get(value, number_or_word(value))


def _options(algorithm: str) -> list[str]:
    """A method's own settings, with its name before them and without."""
    own = method_options().get(algorithm, {})
    return [*own, *(f"{algorithm}.{name}" for name in own)]


def _change_settings(experiment: Experiment, pairs: Mapping[str, str]) -> Experiment:
    fields = {s: _fitting(s, v) for s, v in pairs.items() if s in Experiment.model_fields}
    own = {s.rpartition(".")[2]: _parse_value(v) for s, v in pairs.items() if s not in fields}
    options = {**experiment.options, **own}
    return make_experiment({**experiment.model_dump(), **fields, "options": options})


def _fitting(setting: str, value: str) -> str | int | float | bool | None:
    """A setting that takes words takes numbers as words, too."""
    words = "str" in str(Experiment.model_fields[setting].annotation)
    return value if words and value != NOTHING else _parse_value(value)
