"""Is the page on what works together what preparing a training says?  (Some of its cells, and its shape.)"""

import random
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import make_compatibility as tool  # noqa: E402 - a script beside the package

PAGE = (ROOT / "docs" / "compatibility.md").read_text()
ROWS = {
    row[0].strip("` "): [cell.strip() for cell in row[1:]]
    for row in (line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| `"))
}
REASONS = dict(re.findall(r"^(\d+)\. (.*)$", PAGE, re.MULTILINE))
CELLS = [(method, place) for method in ROWS for place in range(len(tool.FEATURES))]


def test_every_method_has_a_row_and_every_setting_a_column():
    assert list(ROWS) == tool.methods()
    assert {len(cells) for cells in ROWS.values()} == {len(tool.FEATURES)}


def test_every_number_has_a_sentence_and_every_sentence_a_number():
    used = {cell for cells in ROWS.values() for cell in cells} - {"yes"}
    assert used == set(REASONS)


def test_every_method_works_alone():
    assert {cells[0] for cells in ROWS.values()} == {"yes"}


@pytest.mark.parametrize(("method", "place"), random.Random(0).sample(CELLS, 24))
def test_a_cell_is_what_preparing_a_training_says(method, place):
    said, found = ROWS[method][place], tool.verdict(method, tool.FEATURES[place])
    assert (said == "yes") == (not found), found
    assert found.replace(method, "*METHOD*") == REASONS.get(said, "")
