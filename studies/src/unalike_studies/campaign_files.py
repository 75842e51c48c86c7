"""Reports of all studies' claims: JSON, Markdown, and a page for each study."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unalike.core.json_text import json_ready
from unalike.report.html import write_report
from unalike.runs.atomic import write_bytes

from .campaign import Finished, count, total
from .study import still_scaled_down

HEAD = ("id", "claim", "published", "expected", "measured", "verdict")


def write_files(folder: Path, finished: Sequence[Finished], quick: bool) -> Path:
    """claims.json, claims.md and the pages; the path of claims.md."""
    text = json.dumps(json_ready(as_rows(finished)), indent=2)
    write_bytes(folder / "claims.json", f"{text}\n".encode())
    write_bytes(folder / "claims.md", as_markdown(finished, quick).encode())
    for one in finished:
        if not one.error:
            write_page(folder / f"{one.study}.html", one, quick)
    return folder / "claims.md"


def as_rows(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    """Every claim with its study and its document, for machines."""
    return [
        {"study": one.study, **claim.as_dict(), "document": one.document if claim.place else ""}
        for one in finished
        for claim in one.claims
    ]


def as_markdown(finished: Sequence[Finished], quick: bool) -> str:
    """A table for each study, below the total."""
    effort = "Fewer seeds and smaller problems (`--quick`)." if quick else "All seeds."
    parts = [f"# Published claims\n\n{total(finished)} {effort}\n"]
    for one in finished:
        parts.append(f"\n## {one.study}\n\n{_about(one)}\n")
        if one.claims:
            lines = [_line(HEAD), _line(["---"] * len(HEAD))]
            lines += [_line([claim.readable()[name] for name in HEAD]) for claim in one.claims]
            parts.append("\n" + "\n".join(lines) + "\n")
    return "".join(parts)


def write_page(path: Path, one: Finished, quick: bool) -> Path:
    """One study as a page that opens anywhere."""
    holds = sum(claim.holds for claim in one.claims)
    failed = sum(claim.hard and not claim.holds for claim in one.claims)
    less = still_scaled_down(one.study)
    return write_report(
        path,
        title=f"Study {one.study}",
        subtitle="fewer seeds and smaller problems" if quick else "all seeds",
        summary={"claims": len(one.claims), "hold": holds, "hard ones do not hold": failed},
        figures={},
        config={},
        events=(),
        tables={"Claims": [claim.readable() for claim in one.claims]},
        source=one.document,
        notes={"Claims": f"Scaled down: {less}." if less else ""},
    )


def _about(one: Finished) -> str:
    if one.error:
        return f"Not run: {one.error}"
    document = f" Published values stand in {one.document}." if one.document else ""
    return f"{count(one.claims)}.{document} [Page]({one.study}.html)."


def _line(cells: Sequence[str]) -> str:
    """A row of a table; a bar within a cell would end it.

    >>> _line(["A1", "|x| is small"])
    '| A1 | \\\\|x\\\\| is small |'
    """
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
