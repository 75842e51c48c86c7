"""The campaign of all studies: one after the other; finished ones are not repeated.

A finished study is a file of JSON in a folder: its claims, and what decides them: its name, `quick`, and the
versions of both packages. A study whose file says anything else is run again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unalike import __version__
from unalike.core.json_text import json_ready
from unalike.core.studies import study_names
from unalike.engine.compilation_cache import forget_programs
from unalike.errors import UnalikeError
from unalike.runs.atomic import write_bytes

from .study import Claim, document_of, run_study


@dataclass(frozen=True)
class Finished:
    """What a study came to."""

    study: str
    claims: tuple[Claim, ...]
    seconds: float
    error: str = ""
    """Why the study did not run; it is tried again next time."""
    again: bool = False
    """Whether the claims were there already."""

    @property
    def document(self) -> str:
        return document_of(self.study)

    def sentence(self) -> str:
        """One line for a person who waits."""
        if self.error:
            return f"{self.study}: not run, {self.error}"
        how = "finished before" if self.again else f"{self.seconds:.0f} s"
        return f"{self.study}: {count(self.claims)} ({how})"


def count(claims: Sequence[Claim]) -> str:
    """How many claims hold, in words.

    >>> holds = Claim("A1", "it is small", None, "0", 0.0, True)
    >>> count([holds, Claim("A2", "it is large", None, "1", 0.0, False)])
    '2 claims: 1 holds, 1 hard does not hold, 0 soft do not hold'
    """
    failed = [sum(not claim.holds and claim.hard is hard for claim in claims) for hard in (True, False)]
    verb, hold = ("does" if failed[0] == 1 else "do"), len(claims) - sum(failed)
    return (
        f"{len(claims)} claim{'s' * (len(claims) != 1)}: {hold} hold{'s' * (hold == 1)}, {failed[0]} hard "
        f"{verb} not hold, {failed[1]} soft {'does' if failed[1] == 1 else 'do'} not hold"
    )


def total(finished: Sequence[Finished]) -> str:
    """The sum over all studies, in one sentence."""
    missing = sum(bool(one.error) for one in finished)
    left_out = f" {missing} {'study was' if missing == 1 else 'studies were'} not run." if missing else ""
    claims = [claim for one in finished for claim in one.claims]
    return f"{len(finished) - missing} studies, {count(claims)}.{left_out}"


def run_all(folder: Path, quick: bool, say: Callable[[str], object]) -> Iterator[Finished]:
    """Every study by name; those that are finished in the folder are read, the others run and kept."""
    for study in study_names():
        file, decides = folder / f"{study}.json", _decides(study, quick)
        kept = _read(file, decides)
        if kept is not None:
            yield kept
            continue
        say(study)
        started = time.perf_counter()
        try:
            claims = tuple(run_study(study, quick))
        except UnalikeError as error:
            yield Finished(study, (), 0.0, str(error))
            continue
        done = Finished(study, claims, round(time.perf_counter() - started, 1))
        _write(file, decides, done)
        yield done
        forget_programs(-1)


def _decides(study: str, quick: bool) -> dict[str, Any]:
    return {"study": study, "quick": quick, "unalike": __version__, "unalike-studies": _own_version()}


def _own_version() -> str:
    """The version of the studies; those of a checkout that is only on the path go with the package."""
    try:
        return version("unalike-studies")
    except PackageNotFoundError:
        return __version__


def _read(file: Path, decides: dict[str, Any]) -> Finished | None:
    """A finished study; None where there is no whole file, or one that something else decided."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["decides"] != decides:
            return None
        claims = tuple(Claim(**claim) for claim in kept["claims"])
        return Finished(decides["study"], claims, float(kept["seconds"]), again=True)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(file: Path, decides: dict[str, Any], done: Finished) -> None:
    claims = [json_ready(claim.as_dict()) for claim in done.claims]
    kept = {"decides": decides, "seconds": done.seconds, "claims": claims}
    write_bytes(file, json.dumps(kept, indent=2).encode())
