"""Files of a comparison of unlearning schemes: what was asked, every result as soon as it is there, a table.

schemes.json    what was asked, and the results; a comparison that was interrupted resumes from it
schemes.csv     the results, one line for each scheme
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.csv_text import csv_text
from ..core.json_text import json_ready
from ..core.run_files import CONFIG
from ..errors import ConfigError, RunError
from ..runs.atomic import write_bytes
from .compare_schemes import Result

FILE, TABLE = "schemes.json", "schemes.csv"
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class SchemeFiles:
    """The folder of a comparison.

    Args:
        folder: where it is; it is made when the first result is kept.
        asked: what decides the results.
        measure: what is measured on rows.
    """

    def __init__(self, folder: Path, asked: Mapping[str, Any], measure: str) -> None:
        self.folder, self._asked, self._measure = folder, _versioned(asked), measure
        self.results = _read(folder / FILE, self._asked)

    def keep(self, result: Result) -> None:
        """Write a result beside the others, at once or not at all."""
        self.results[result.scheme] = result
        write_bytes(self.folder / FILE, json.dumps(self.as_dict(), indent=2).encode())

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        schemes = [result._asdict() | {"guarantee": result.guarantee} for result in self.results.values()]
        answer: dict[str, Any] = json_ready(
            {"asked": self._asked, "measure": self._measure, "schemes": schemes}
        )
        return answer

    def write_table(self) -> Path:
        """The results as CSV."""
        head = [*Result._fields, "guarantee"]
        lines = [[*result, result.guarantee] for result in self.results.values()]
        write_bytes(self.folder / TABLE, csv_text(head, lines).encode())
        return self.folder / TABLE


def choose_folder(run: Path, asked: Mapping[str, Any], out: Path | None = None) -> Path:
    """Where a comparison is written: `out`, or else the first folder beside the run that is free or holds
    the same comparison.

    Args:
        run: the run folder.
        asked: what decides the results.
        out: the folder that was asked for.
    """
    if out is None:
        numbered = (
            run.parent / f"{run.name}-schemes{'' if number == 1 else f'-{number}'}"
            for number in range(1, 10**6)
        )
        return next(folder for folder in numbered if not folder.exists() or _holds(folder, asked))
    inside = out.resolve()
    if run.resolve() in (inside, *inside.parents) or (out / CONFIG).exists():
        raise ConfigError(
            f"{out} belongs to a run, which a comparison must not change; choose another --out."
        )
    if (out / FILE).exists() and not _holds(out, asked):
        raise ConfigError(f"{out} holds another comparison of schemes; choose another --out.")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; choose another --out.")
    return out


def _versioned(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {**json_ready(dict(asked)), "version": __version__}


def _holds(folder: Path, asked: Mapping[str, Any]) -> bool:
    """Whether a folder holds a comparison with the same words."""
    try:
        kept = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return bool(kept["asked"] == _versioned(asked))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read(path: Path, asked: Mapping[str, Any]) -> dict[str, Result]:
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        found = [_result(words) for words in kept["schemes"]] if kept["asked"] == asked else []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); delete it to compare again.") from None
    return {result.scheme: result for result in found}


def _result(words: Mapping[str, Any]) -> Result:
    """A result, with numbers that JSON has no words for."""
    values: dict[str, Any] = {name: words[name] for name in Result._fields}
    values |= {name: _NUMBERS[value] for name, value in values.items() if value in _NUMBERS}
    return Result(**values)


def readable(results: Sequence[Result], measure: str) -> list[dict[str, Any]]:
    """The table for people: rounds, what is left of the forgotten clients, and the guarantee.

    Args:
        results: what every scheme came to.
        measure: what was measured on rows.
    """
    marked = any(result.watermark is not None for result in results)
    rows = []
    for result in results:
        row: dict[str, Any] = {
            "scheme": result.scheme,
            "rounds": "–" if result.rounds is None else result.rounds,
            f"{measure} on forgotten": _number(result.forgotten),
            f"{measure} on others": _number(result.others),
            **({"on watermark": _number(result.watermark)} if marked else {}),
            "guarantee": result.guarantee,
        }
        rows.append(row | ({"note": result.note} if any(one.note for one in results) else {}))
    return rows


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"
