"""Command-line options, made of the fields of an experiment.

The signature of a command is made from :class:`unalike.experiments.config.Experiment`, so options, TOML keys,
defaults and help cannot differ.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import typer

from ..core.spec import Spec
from ..errors import ConfigError
from ..experiments.check_names import check_settings
from ..experiments.config import Experiment, make_experiment, read_experiment, settings_of
from ..typing import Document, Fields

FIELDS = tuple(Experiment.model_fields)
FILE = typer.Argument(
    None, help="A TOML file that describes the experiment; options replace its values.", show_default=False
)

TRUST = typer.Option(
    False,
    "--trust-file",
    help="Let the file name paths outside its folder, queries (sql:...) and places to write, because you "
    "wrote it or have read it. Options on the command line always may.",
)

GRAPH = typer.Option(
    "full",
    help="Which clients the similarity graph joins: full, knn:5 (nearest neighbors) or epsilon:0.01 "
    "(misaligned by at most so much).",
)


def with_experiment(command: Callable[..., Any], without: tuple[str, ...] = ()) -> Callable[..., Any]:
    """`command(experiment=..., ...)` as a command line with one option per field, and a file."""
    own = [p for p in inspect.signature(command).parameters.values() if p.name != "experiment"]
    fields = [name for name in Experiment.model_fields if name not in without]

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        overrides = {name: given.pop(name) for name in fields if given.get(name) is not None}
        for name in fields:
            given.pop(name, None)
        if "options" in overrides:
            overrides["options"] = parse_settings(overrides["options"])
        file, trust = given.pop("file"), given.pop("trust_file", False)
        return command(experiment=check_experiment(read_experiment(file, overrides, trust)), **given)

    named = [_keyword("file", Path | None, FILE), *(_option(name) for name in fields)]
    parameters = [*named, *own, _keyword("trust_file", bool, TRUST)]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapped.__wrapped__
    return wrapped


ROWS = tuple(name for name in settings_of(group="Data") if name not in ("reference_fraction", "unseen"))
"""Settings that say which rows clients have."""


def with_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command(rows={...}, ...)` with an option for every setting that says which rows clients have."""
    own = [p for p in inspect.signature(command).parameters.values() if p.name != "rows"]

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        rows = {name: given.pop(name) for name in ROWS if name in given}
        return command(rows={name: value for name, value in rows.items() if value is not None}, **given)

    parameters = [*(_option(name) for name in ROWS), *own]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapped.__wrapped__
    return wrapped


def name_of(rows: Fields) -> str:
    """What the data are called in titles."""
    return str(rows.get("data", Experiment.model_fields["data"].default))


_TRUTHS = {"true": True, "false": False}


def check_experiment(experiment: Experiment) -> Experiment:
    """The same experiment, if all its names exist; JAX is not imported yet, so a typo is answered at once."""
    check_settings(experiment.model_dump())
    return experiment


def experiment_of(**values: Any) -> Experiment:
    """The experiment that a few options describe, if all its names exist."""
    return check_experiment(
        make_experiment({name: value for name, value in values.items() if value is not None})
    )


def parse_settings(words: list[str]) -> Document:
    """`mu=0.1` and the like.

    >>> parse_settings(["mu=0.1", "tune_epochs=2", "hard=false"])
    {'mu': 0.1, 'tune_epochs': 2, 'hard': False}
    """
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        values = Spec.parse(f":{value}").arguments
        if not equals or not name.strip() or len(values) != 1:
            raise ConfigError(f"--set {word!r} is not of the form name=value.")
        settings[name.strip()] = _TRUTHS.get(str(values[0]).lower(), values[0])
    return settings


def _option(name: str) -> inspect.Parameter:
    field = Experiment.model_fields[name]
    if name == "options":
        option = typer.Option(None, "--set", help=field.description, show_default=False, metavar="NAME=VALUE")
        return _keyword(name, list[str] | None, option)
    shown = False if field.default is None else str(field.default)
    option = typer.Option(None, f"--{name.replace('_', '-')}", help=field.description, show_default=shown)
    return _keyword(name, _plain(field.annotation) | None, option)


def _plain(annotation: Any) -> Any:
    """The type without None."""
    if isinstance(annotation, types.UnionType):
        return next(kind for kind in get_args(annotation) if kind is not types.NoneType)
    return annotation


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
