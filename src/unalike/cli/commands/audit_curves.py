"""`unalike audit --vary`: the trade-off of defenses over their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from ...errors import ConfigError
from ...typing import Config
from ..screen import console, print_json, show_rows, stderr


def audit_curves(
    bases: Sequence[Path],
    vary: Sequence[str],
    defense: str | None,
    reference: str | None,
    page: Path | None,
    json: bool,
    settings: Config,
    trust_file: bool = False,
) -> None:
    """Train and audit every setting, write the page and print the table."""
    if len(bases) > 1:
        raise ConfigError("knobs are turned on one experiment; give one run folder, or one file.")
    if defense is not None:
        raise ConfigError(
            f"with --vary a defense is a knob; write --vary {defense.replace(':', '=')}, not --defense."
        )
    from ...experiments.audit_sweep import read_base, sweep
    from ...privacy.audit.curves import say_curves, tabulate
    from ...report.audit_curves import report_curves

    base = read_base(bases[0], trust_file)
    with stderr.status("reading the data") as status:
        curves = sweep(
            base,
            vary,
            reference=reference,
            announce=lambda words: status.update(f"training and attacking {escape(words)}"),
            **settings,
        )
    said = say_curves(curves)
    written = report_curves(curves, page or beside(bases[0], "curves"), base.model_dump())
    if json:
        found = {"curves": [curve.as_dict() for curve in curves], "sentences": said, "page": str(written)}
        print_json(found)
        return
    show_rows(tabulate(curves), "privacy report cards", spare=("weighted advantage",))
    for sentence in said:
        console.print(escape(sentence), soft_wrap=True, highlight=False)
    console.print(f"Open [bold]{escape(str(written))}[/bold] for the curves.", soft_wrap=True)


def beside(place: Path, what: str = "audit") -> Path:
    """The page that stands beside a run folder or a file."""
    whole = place.resolve()
    return whole.with_name(f"{whole.stem if whole.is_file() else whole.name}-{what}.html")
