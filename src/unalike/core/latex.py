"""LaTeX tables with booktabs rules."""

from __future__ import annotations

from collections.abc import Sequence

_MARKS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_MARKS |= {mark: f"\\{mark}" for mark in "&%$#_{}"}
_MARKS |= {"±": r"$\pm$", "–": "--", "−": "$-$", "<": "$<$", ">": "$>$"}


def escape_latex(words: str) -> str:
    """Words whose marks mean nothing to LaTeX.

    >>> print(escape_latex("fed_avg & 5 %"))
    fed\\_avg \\& 5 \\%
    """
    return "".join(_MARKS.get(mark, mark) for mark in words)


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A `tabular` of a plain head and of cells that are LaTeX already; the first column is aligned left, the
    others right."""
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        _line([escape_latex(cell) for cell in head]),
        r"\midrule",
        *map(_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
