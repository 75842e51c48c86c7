"""`unalike forget --compare`: unlearning schemes on a run of one's own, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from ..interrupted import SAME, can_go_on
from ..screen import LiveRounds, console, print_json, show_rows, stderr

if TYPE_CHECKING:
    from ...trust.unlearning.calibration import Budget


def compare(
    folder: Path, names: list[str], budget: Budget, *, out: Path | None, quiet: bool, json: bool, **how: Any
) -> None:
    """Train every scheme that is not finished, and write and print the table.

    Args:
        folder: the run folder, which is only read.
        names: the clients to forget.
        budget: the guarantee that is asked for.
        out: where results are kept; beside the run when None.
        quiet: whether there is no progress bar.
        json: whether the table is printed as JSON.
        how: rule, rounds, stop_at and clip.
    """
    from ...experiments.compare_schemes import COMPARED, SchemeComparison, compare_schemes
    from ...experiments.scheme_files import SchemeFiles, choose_folder, readable
    from ...report.scheme_report import report_schemes

    comparison = SchemeComparison.open(folder, names, budget, **how)
    asked = comparison.asked()
    files = SchemeFiles(choose_folder(folder, asked, out), asked, comparison.measure)
    there = len(files.results)
    can_go_on(SAME, files.folder)
    with LiveRounds(quiet or json) as progress:
        progress.expect(1 + len(COMPARED) - there)
        results = compare_schemes(comparison, files.results, files.keep, progress.rename, progress)
    table, page = files.write_table(), report_schemes(files.folder, comparison, results)
    if json:
        print_json({**files.as_dict(), "folder": str(files.folder), "report": str(page)})
        return
    if there:
        stderr.print(f"{there} results were there already.", highlight=False)
    title = f"unlearning {', '.join(names)} from {folder.name}: rounds of the retraining, measured on rows"
    show_rows(readable(results, comparison.measure), title, spare=("note",), more="the report has them")
    if comparison.request.stop_at is None:
        console.print(
            f"No rule says when to stop, so every scheme trained {comparison.request.rounds} rounds; "
            "--stop-at train_accuracy:0.9 lets them differ.",
            style="dim",
            highlight=False,
            soft_wrap=True,
        )
    words = f"Open {page} in a browser; {table.name} is beside it. {folder} was not changed."
    console.print(escape(words), soft_wrap=True, highlight=False)
