"""Are names that a terminal obeys, or that look like others, refused?  (Attacks by names.)"""

import re

import numpy as np
import pytest

from unalike.cli.log_lines import add_time
from unalike.data import Federation
from unalike.errors import DataError

HIDDEN = ("ill\nwell", "\x1b[2J", "a\u202eb", "a\u2066b", "a\x00b", "a\u2028b", "a\x85b")


@pytest.mark.parametrize("label", HIDDEN)
def test_a_label_that_cannot_be_seen_is_refused_with_its_row(label):
    rows = {"here": (np.zeros((4, 1)), np.array(["ill", "well", "ill", label]))}
    with pytest.raises(DataError, match="cannot be seen in row 4") as refusal:
        Federation.from_clients(rows, test_fraction=0.0)
    assert not set(str(refusal.value)) & set("".join(HIDDEN)) - set("ilwe[2Jab")


def test_ordinary_labels_of_all_scripts_are_taken():
    words = ["krank", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u75c5\u6c17", "not ill"]
    rows = {"here": (np.zeros((4, 1)), np.array(words))}
    assert set(Federation.from_clients(rows, test_fraction=0.0).label_names) == set(words)


def test_a_log_holds_nothing_that_a_terminal_obeys():
    line = add_time("refused a request: unknown operator '\x1b]0;owned\x07' \u202e[bold]")
    assert re.fullmatch(r"\d\d:\d\d:\d\d  refused a request: unknown operator ' ]0;owned '  \\\[bold\]", line)
