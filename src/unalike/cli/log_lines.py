"""Dated log lines of long-running processes."""

from __future__ import annotations

from datetime import datetime

from rich.markup import escape

from ..core.control_characters import replace_hidden_letters
from .screen import console


def say(line: str) -> None:
    """Print a line and when it was said."""
    console.print(add_time(line), soft_wrap=True, highlight=False)


def add_time(line: str) -> str:
    """The line behind the time of day, ready to be printed; what a terminal would obey is left out."""
    return f"{datetime.now():%H:%M:%S}  {escape(replace_hidden_letters(line))}"


def silence(line: str) -> None:
    """Say nothing, where a machine reads what is printed."""
