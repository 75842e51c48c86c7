"""What does a person hear of how a folder of files was read?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from ..core.catalogue import explain
from ..experiments.config import Experiment
from .screen import stderr

if TYPE_CHECKING:
    from ..data import Federation


def say_data(experiment: Experiment, federation: Federation, silent: bool) -> None:
    """One line that names the target and the files left alone, for data that are not Unalike's own."""
    if not silent and federation.description and experiment.spec("data").name not in explain("data"):
        stderr.print(escape(f"{experiment.data}: {federation.description}."), soft_wrap=True, highlight=False)
