"""Checks of all names in an experiment, before anything slow is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.catalog import check_data, check_name, check_no_folder, separate
from .config import ABOUT

if TYPE_CHECKING:
    from ..typing import Config


def check_settings(settings: Config) -> None:
    """Raise for a setting that names something which does not exist, data included."""
    check_names(settings)
    if settings.get("data") is not None:
        check_data(settings["data"])


def check_names(settings: Config) -> None:
    """Raise for a setting that names something which does not exist, whatever its data are."""
    if settings.get("stream") is not None:
        check_no_folder(settings["stream"])
    for name, known in ABOUT.items():
        given = settings.get(name)
        if known.kind is not None and given is not None:
            for spec in separate(given) if known.several else [given]:
                check_name(known.kind, spec)
