"""Messages beside the result: how a folder was read, and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from ..core.catalog import explain
from ..experiments.config import Experiment
from .screen import stderr

if TYPE_CHECKING:
    from ..data import Federation


def say_data(experiment: Experiment, federation: Federation, silent: bool) -> None:
    """One line that names the target and the files left alone, for data that are not Unalike's own."""
    if not silent and federation.description and experiment.spec("data").name not in explain("data"):
        stderr.print(escape(f"{experiment.data}: {federation.description}."), soft_wrap=True, highlight=False)


def say_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A warning as a sentence; where in the program it arose is of no use to a person at the command line."""
    if issubclass(category, UserWarning):
        stderr.print(f"[yellow]warning:[/yellow] {escape(str(message))}", soft_wrap=True, highlight=False)
