"""Files of a comparison for other programs and papers: CSV, JSON, LaTeX.

comparison.csv    all numbers, a line per method
comparison.json   the same, with the metric that decides, the baseline and the best, if one is for sure
comparison.md     the table as a person reads it, and what stands behind its numbers
comparison.tex    the same for LaTeX, with booktabs
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..core.csv_text import csv_text
from ..core.json_text import json_ready
from ..core.latex import escape_latex, latex_table
from ..models.metrics import label_of
from ..typing import Document
from .atomic import write_bytes
from .comparison import Comparison

ANSWER = "comparison.json"
"""A folder that has it holds a comparison that was finished."""


def interval_words(seeds: int) -> str:
    """What the numbers after ± are; of one seed there are none.

    >>> interval_words(3)
    '±: 95 % t intervals over 3 seeds; p (t): paired t test over the same seeds.'
    """
    if seeds < 2:
        return "One seed: there are no intervals."
    return f"±: 95 % t intervals over {seeds} seeds; p (t): paired t test over the same seeds."


def write_comparison(folder: Path, answer: Comparison, notes: Sequence[str] = ()) -> list[Path]:
    """Write all files; `notes` stand below the tables."""
    texts = {
        "comparison.csv": as_csv(answer),
        "comparison.md": as_markdown(answer, notes),
        "comparison.tex": as_latex(answer, notes),
        ANSWER: json.dumps({**as_dict(answer), "notes": list(notes)}, indent=2) + "\n",
    }
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())
    return [folder / name for name in texts]


def as_dict(answer: Comparison) -> Document:
    """What JSON can hold of a comparison."""
    found = {"metric": answer.metric, "baseline": answer.baseline, "best": answer.leader}
    found["best_mean"] = answer.best
    return {**found, "rows": json_ready(answer.rows)}


def as_csv(answer: Comparison) -> str:
    """All numbers; what is not a number is empty."""
    rows = answer.table()
    return csv_text(rows[0], [list(row.values()) for row in rows])


def as_markdown(answer: Comparison, notes: Sequence[str] = ()) -> str:
    """The readable table with its notes."""
    head, rows = _cells(answer)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    return "\n\n".join([table, *notes]) + "\n"


def as_latex(answer: Comparison, notes: Sequence[str] = ()) -> str:
    """The readable table for a paper; notes are comments, and bold is what is better than all others by more
    than the intervals."""
    head, rows = _cells(answer)
    cells = [[escape_latex(cell) for cell in row] for row in rows]
    for row, shown in zip(answer.rows, cells, strict=True):
        if row["method"] == answer.leader:
            shown[1] = rf"\textbf{{{shown[1]}}}"
    table = latex_table(head, cells)
    return "".join(f"% {note}\n" for note in notes) + table


def _cells(answer: Comparison) -> tuple[list[str], list[list[str]]]:
    readable = answer.readable()
    head = [label_of(name) if name == answer.metric else name for name in readable[0]]
    return head, [list(row.values()) for row in readable]
