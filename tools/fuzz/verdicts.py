"""What does it mean that the program held?  (One rule for all fuzzers.)

A case held if it ended with a result or with one clear sentence: no traceback, nothing written outside its
folder, no number that is not finite reported as a success. Time and memory are judged by the harness.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

LONGEST = 4000
"""Characters of a refusal that a person still reads."""


class CaseError(Exception):
    """The program did something that it must not do."""


class Answer(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document that it printed, if it did."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None


def type_in(words: Sequence[str]) -> Answer:
    """Run a command line in this process; `CaseError` for anything but a result or a sentence."""
    from unalike.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["unalike", *words]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    answer = Answer(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue())
    check_answer(words, answer)
    return answer


def check_answer(words: Sequence[str], answer: Answer) -> None:
    """Refuse tracebacks, silence, sermons, JSON that is none, and NaN as a success."""
    said = answer.out + answer.err
    if "Traceback (most recent call last)" in said:
        raise CaseError(f"traceback printed: {said[-800:]}")
    if answer.code == 0:
        if "--json" in words and "--help" not in words and "-h" not in words:
            _check_document(answer)
        return
    if not said.strip():
        raise CaseError(f"exit code {answer.code} without a word")
    if "--json" not in words and len(answer.err) > LONGEST:
        raise CaseError(f"a refusal of {len(answer.err)} characters")


def _check_document(answer: Answer) -> None:
    try:
        document = json.loads(answer.out, parse_constant=_no_constant)
    except ValueError as error:
        raise CaseError(f"--json printed no JSON document ({error}): {answer.out[:200]!r}") from None
    if not isinstance(document, dict):
        return
    names = ("train_loss", "test_loss", "test_accuracy", "test_rmse")
    wrong = [name for name in names if document.get(name, 0) in (None, "NaN", "Infinity", "-Infinity")]
    if wrong and not document.get("warnings"):
        raise CaseError(f"{wrong[0]} is {document[wrong[0]]} in a success without a warning")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def tree_of(folder: Path) -> dict[str, bytes | None]:
    """All files below a folder with their contents, and links with where they point."""
    found: dict[str, bytes | None] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = str(path.readlink()).encode()
        else:
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found
