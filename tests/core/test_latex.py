"""Does a table survive LaTeX's own marks?"""

from unalike.core.latex import escape_latex, latex_table


def test_every_mark_is_escaped_once():
    assert escape_latex("a_b & 5 % \\ ± 1") == r"a\_b \& 5 \% \textbackslash{} $\pm$ 1"


def test_a_table_has_a_line_per_row_and_a_column_per_head():
    lines = latex_table(["method", "a", "b"], [["x", "1", "2"], ["y", "3", "4"]]).splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}"
    assert lines[4:6] == [r"x & 1 & 2 \\", r"y & 3 & 4 \\"]
    assert lines[-1] == r"\end{tabular}"
