"""Which versions were tested? Writes the pip constraints file of this environment.

Every package that Unalike, its tests and its build need, directly or through others, with the version that
is installed now; trackers that tests only pretend to have are left to pip. Constraints choose
versions and never packages, so what only another platform or a newer Python needs is left to pip there. Used
by `make constraints`.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
HEADER = """\
# Exact versions that were tested together; `make` installs these. Written by `make constraints`: do not edit.
"""


def main() -> None:
    """Print the constraints, or say which package is missing."""
    try:
        versions = dict(pinned(required(ROOT / "pyproject.toml")))
    except PackageNotFoundError as missing:
        sys.exit(f"{missing.name} is not installed here; run make lint first.")
    print(HEADER + "\n".join(f"{name}=={version}" for name, version in sorted(versions.items())))


def required(project: Path) -> list[Requirement]:
    """What the project, its tests and its build ask for."""
    document = tomllib.loads(project.read_text())
    tests = document["project"]["optional-dependencies"]["dev"]
    groups = [document["build-system"]["requires"], document["project"]["dependencies"], tests]
    return [Requirement("pip"), *(Requirement(line) for group in groups for line in group)]


def pinned(wanted: Iterable[Requirement]) -> Iterator[tuple[str, str]]:
    """Name and installed version of all that is wanted and of what that needs in turn."""
    waiting, seen = list(wanted), set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        found = distribution(requirement.name)
        yield key[0], found.version
        waiting += needs(found.requires or (), requirement.extras)


def needs(lines: Iterable[str], extras: Iterable[str]) -> Iterator[Requirement]:
    """The requirements that hold on this machine, with these extras of the package."""
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


if __name__ == "__main__":
    main()
