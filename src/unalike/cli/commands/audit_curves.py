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
    regimes: str | None = None,
) -> None:
    """Train and audit every setting, write the page and print the tables.

    Args:
        bases: one run folder, or an experiment's file.
        vary: knobs and values.
        defense: refused, for it is a knob here.
        reference: which rows are reference rows.
        page: where to write the page.
        json: whether to print JSON.
        settings: of the audit.
        trust_file: whether the file may name files elsewhere.
        regimes: regimes of reference data, separated by commas.
    """
    if len(bases) > 1:
        raise ConfigError("knobs are turned on one experiment; give one run folder, or one file.")
    if defense is not None:
        raise ConfigError(
            f"with --vary a defense is a knob; write --vary {defense.replace(':', '=')}, not --defense."
        )
    from ...experiments.audit_sweep import read_base, sweep_regimes
    from ...privacy.audit.curves import say_curves, tabulate
    from ...privacy.audit.regimes import (
        PUBLIC,
        Regime,
        best_by_level,
        parse_regimes,
        say_regimes,
        tabulate_regimes,
    )
    from ...report.audit_curves import report_curves

    asked = parse_regimes(regimes) if regimes is not None else []
    base = read_base(bases[0], trust_file)
    with stderr.status("reading the data") as status:
        by_regime = sweep_regimes(
            base,
            vary,
            sorted(asked or [Regime(PUBLIC)], key=lambda one: one.shift),
            reference=reference,
            announce=lambda words: status.update(f"training and attacking {escape(words)}"),
            **settings,
        )
    curves = next(iter(by_regime.values()))
    compared = {one.name: by_regime[one.name] for one in asked}
    best = {name: best_by_level(found, name) for name, found in compared.items()}
    lines = tabulate_regimes(best)
    said = [*say_regimes(best), *say_curves(curves)]
    written = report_curves(curves, page or beside(bases[0], "curves"), base.model_dump(), compared)
    if json:
        found = {"curves": [curve.as_dict() for curve in curves], "sentences": said, "page": str(written)}
        print_json({**found, "regimes": lines} if asked else found)
        return
    show_rows(tabulate(curves), "privacy report cards", spare=("weighted advantage",))
    if lines:
        show_rows(lines, "who is best in which regime of reference data", spare=("its utility",))
    for sentence in said:
        console.print(escape(sentence), soft_wrap=True, highlight=False)
    console.print(f"Open [bold]{escape(str(written))}[/bold] for the curves.", soft_wrap=True)


def beside(place: Path, what: str = "audit") -> Path:
    """The page that stands beside a run folder or a file."""
    whole = place.resolve()
    return whole.with_name(f"{whole.stem if whole.is_file() else whole.name}-{what}.html")
