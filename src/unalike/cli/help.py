"""Help texts of the command line, and suggestions for misspelt commands.

Typer and the Click below it differ between versions in how they write defaults and arguments; so the words
come from the command's own signature, and options are in groups. Only the left column is Click's.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from ..errors import unknown
from ..experiments.config import settings_of

UsageError: Any = typer.BadParameter.__base__  # Typer carries its own Click, whose names are private
MANY = 20
"""A command with more options than this shows them in groups."""
REST = "Options"
TITLES = (
    *("Data", "Stream", "Model", "Method", "Participation", "Timing", "Network", "Trust", "Privacy", "Run"),
)
GROUPS: Mapping[str, tuple[str, ...]] = {
    REST: (),
    **{title: settings_of(group=title) for title in TITLES},
    "Run": (*settings_of(group="Run"), "target"),
    "Output": ("out", "overwrite", "quiet", "json", "trust_file", "help"),
}
"""The settings of an experiment, in the order in which a person thinks of them; before them, what is the
command's own."""


class Command(TyperCommand):
    """A command whose help is written here."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_parameters(self, ctx, formatter)


class Group(TyperGroup):
    """Commands, of which a misspelt one is answered once."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_parameters(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except UsageError:
            raise unknown("command", args[0], self.commands) from None


class ListingGroup(Group):
    """Commands, of which `list` need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else ["list", *args])


class Program(typer.Typer):
    """A Typer whose commands are ours."""

    def __init__(self, cls: type[Group] = Group, **settings: Any) -> None:
        super().__init__(cls=cls, no_args_is_help=True, rich_markup_mode=None, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Any:
        return super().command(name, cls=Command, **settings)


@lru_cache(maxsize=32)
def build_program(app: Program, first: str) -> Any:
    """The program as Click runs it, for a command line that begins with this word.

    To build the options of a command takes longer than to read them, so that a command that is named first is
    built alone. Anything else (help, a misspelt command) needs all commands.
    """
    commands = [command for command in app.registered_commands if command.name == first]
    groups = [group for group in app.registered_groups if group.name == first]
    if not commands and not groups:
        return get_command(app)
    one = copy(app)
    one.registered_commands, one.registered_groups = commands, groups
    return get_group(one)


def write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    """Arguments, then options in their groups."""
    sections: dict[str, list[tuple[str, str]]] = {}
    parameters = command.get_params(ctx)
    many = len(parameters) > MANY
    declared = inspect.signature(command.callback).parameters if command.callback else {}
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        if record is not None:
            given = declared.get(parameter.name)
            words = parameter.help if given is None else explain_parameter(given.default)
            section = section_of(parameter, many)
            sections.setdefault(section, []).append((re.sub(r"(?i) range\b", "", record[0]), words))
    for title in ("Arguments", *GROUPS):
        if sections.get(title):
            with formatter.section(title):
                formatter.write_dl(sections[title])


def section_of(parameter: Any, many: bool) -> str:
    """Under which heading a parameter stands."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    name = "help" if "--help" in parameter.opts else parameter.name
    mine = (title for title, names in GROUPS.items() if name in names)
    return next(mine, REST) if many else REST


def explain_parameter(given: Any) -> str:
    """A parameter's own words, and in brackets what it is when not given."""
    brackets = _default(given)
    return f"{given.help or ''} ({brackets})".strip() if brackets else given.help or ""


def _default(given: Any) -> str:
    if isinstance(given.show_default, str):
        return f"default: {given.show_default}"
    if given.default is ...:
        return "required"
    hidden = given.default is None or given.default is False or not given.show_default
    return "" if hidden else f"default: {'yes' if given.default is True else given.default}"
