"""Fingerprint of a training: does a folder belong to it?

A run folder keeps digests of its clients' rows, names and classes, the seed, a description of task, method,
participation, timing, stream and aggregation, and digests of the user's own code among them. Whoever resumes
the run, or reuses its result, must bring the same: a difference is refused with the name of what changed.
Lengths, cadences, engines and cores may differ, for they do not change what is computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..core.describe import describe, difference, names_in
from ..core.user_code import digest_modules
from ..data import Federation
from ..data.digests import data_digests
from ..errors import RunError
from ..runs import RunFolder
from ..typing import Document

KEY = "fingerprint"
Fingerprint = Document


def settings_fingerprint(seed: int, **parts: object) -> Fingerprint:
    """What is computed: the seed, settings of all `parts`, and the user's own code among them.

    >>> sorted(settings_fingerprint(1, method=dict(rate=0.1)))
    ['code', 'seed', 'settings']
    """
    settings = json.loads(json.dumps(describe(parts)))
    return {"seed": seed, "settings": settings, "code": digest_modules(names_in(settings))}


def data_fingerprint(federation: Federation) -> Fingerprint:
    """Whose rows it is computed from."""
    return {"data": data_digests(federation)}


def keep_fingerprint(folder: RunFolder, fingerprint: Fingerprint) -> None:
    """Remember what a run was begun with."""
    folder.record.set_meta(KEY, json.dumps(fingerprint))


def read_fingerprint(folder: RunFolder) -> Fingerprint:
    """What a run was begun with; empty for a run that was not begun, or by an older program."""
    return dict(json.loads(folder.record.meta().get(KEY, "{}")))


def fingerprint_changes(before: Fingerprint, now: Fingerprint) -> str | None:
    """What is not as it was, in words; parts that only one of them has are not compared."""
    for part in ("data", "seed", "code", "settings"):
        if part not in before or part not in now:
            continue
        found = difference(before[part], now[part], "" if isinstance(now[part], Mapping) else part)
        if found is not None:
            return _words(part, *found)
    return None


def check_same(folder: RunFolder, now: Fingerprint) -> None:
    """Raise if a run that is resumed is not the one that was begun."""
    changed = fingerprint_changes(read_fingerprint(folder), now)
    if changed:
        raise RunError(
            f"{folder.path} cannot be resumed: {changed}. Bring back what it was begun with, or train anew "
            "into another folder."
        )


def _words(part: str, name: str, before: object, now: object) -> str:
    if part == "data":
        return f"its {name} are not those it was begun with"
    if part == "code":
        return f"the code of {name} has changed"
    name = name.removesuffix(".is")
    shown = [str(value) if isinstance(value, int | float | str) else "another" for value in (before, now)]
    return f"{name} was {shown[0]} and is {shown[1]}" if shown[0] != shown[1] else f"{name} has changed"
