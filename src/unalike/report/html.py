"""One HTML page per report, which opens anywhere, without a network.

Everything is inside the file: style, figures, tables. Every word that comes from data is escaped, and the
page's own policy forbids scripts and loading, so a client with a hostile name is only a client with an odd
name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape, unescape
from importlib.resources import files
from pathlib import Path

from matplotlib.figure import Figure

from ..core.figure_style import is_ours
from ..runs.atomic import write_bytes
from ..typing import Config, Document, Fields
from .embed import embed, legend
from .text_format import cell, number_text
from .text_format import title as in_words

_MOST_EVENTS = 200
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_NUMBER = re.compile(r"[+-]?[\d,.]+(e[+-]?\d+)?( %| ± \S+)?|nan|-?inf|failed|–|")
_NOTHING: Fields = {}


def write_report(
    path: str | Path,
    *,
    title: str,
    summary: Mapping[str, str | float],
    figures: Mapping[str, Figure],
    config: Config,
    events: Sequence[Fields],
    tables: Mapping[str, Sequence[Fields]] = _NOTHING,
    subtitle: str = "",
    captions: Mapping[str, str] = _NOTHING,
    source: str = "",
    notes: Mapping[str, str] = _NOTHING,
) -> Path:
    """Write the page: headline numbers, figures by heading, tables by heading, configuration and events.

    `source` says where the data came from; `notes` stand below the tables of that heading.
    """
    body = "\n".join(
        [
            _header(title, subtitle, source),
            _cards(summary),
            _figures(figures, captions),
            *(
                _section(heading, table(rows) + _note(notes.get(heading, "")))
                for heading, rows in tables.items()
                if rows
            ),
            _events(events),
            _configuration(config),
        ]
    )
    write_bytes(Path(path), page(title, body).encode())
    return Path(path)


def page(title: str, body: str) -> str:
    """A whole HTML document around a body that is already HTML."""
    css = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{css}</style>
</head>
<body>
<main>
{body}
<footer>Written by Unalike: federated learning for clients that are not alike.</footer>
</main>
</body>
</html>
"""


def table(rows: Sequence[Fields]) -> str:
    """Rows of equal meaning as a table; the columns are all keys in the order they are met."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    numeric = {key for key in columns if _is_numeric([row.get(key) for row in rows])}
    mark = {key: ' class="number"' if key in numeric else "" for key in columns}
    head = "".join(f"<th{mark[key]}>{escape(in_words(key))}</th>" for key in columns)
    lines = ("".join(f"<td{mark[key]}>{escape(cell(row.get(key)))}</td>" for key in columns) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def flat(config: Config, prefix: str = "") -> Document:
    """Nested options under dotted names.

    >>> flat({"seed": 1, "data": {"skew": 0.3}})
    {'seed': 1, 'data.skew': 0.3}
    """
    options: Document = {}
    for key, option in config.items():
        if isinstance(option, Mapping):
            options.update(flat(option, f"{prefix}{key}."))
        else:
            options[f"{prefix}{key}"] = option
    return options


def _header(heading: str, subtitle: str, source: str) -> str:
    below = "".join(f'<p class="subtitle">{escape(words)}</p>' for words in (subtitle, source) if words)
    return f'<header><p class="eyebrow">Unalike report</p><h1>{escape(heading)}</h1>{below}</header>'


def _cards(summary: Mapping[str, str | float]) -> str:
    cards = "".join(
        f'<div class="card"><dt>{escape(k)}</dt><dd>{escape(_headline(v))}</dd></div>'
        for k, v in summary.items()
    )
    return f'<dl class="cards">{cards}</dl>' if summary else ""


def _headline(number: str | float) -> str:
    return number if isinstance(number, str) else number_text(number)


def _figures(figures: Mapping[str, Figure], captions: Mapping[str, str]) -> str:
    shown = [
        _figure(i, name, drawn, captions.get(name, "")) for i, (name, drawn) in enumerate(figures.items())
    ]
    return "\n".join(shown)


def _figure(index: int, name: str, drawn: Figure, caption: str) -> str:
    kind = "figure" if is_ours(drawn) else "figure plain"
    words = f"<figcaption><b>{escape(name)}.</b> {escape(caption)}</figcaption>"
    drawing = f'<div class="{kind}">{embed(drawn, f"f{index}", name)}</div>'
    return f"<figure>{drawing}{legend(drawn)}{words}</figure>"


def figures_on(path: Path) -> list[str]:
    """The names of the figures of a page that was written here; none if there is no page."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return [unescape(name) for name in re.findall(r"<figcaption><b>(.*?)\.</b>", text)]


def _section(heading: str, content: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>\n{content}</section>"


def _configuration(config: Config) -> str:
    if not config:
        return ""
    rows = [f"<tr><th>{escape(k)}</th><td>{escape(cell(v))}</td></tr>" for k, v in flat(config).items()]
    content = f'<div class="scroll"><table class="pairs"><tbody>{"".join(rows)}</tbody></table></div>'
    return _section("Configuration", _details(f"{len(rows)} options", content))


def _note(words: str) -> str:
    return f'<p class="note">{escape(words)}</p>' if words else ""


def _details(words: str, content: str) -> str:
    return f"<details><summary>{escape(words)}</summary>{content}</details>"


def _events(events: Sequence[Fields]) -> str:
    if not events:
        return ""
    hidden = len(events) - _MOST_EVENTS
    note = _note(f"{hidden:,} more are in the record." if hidden > 0 else "")
    counts = Counter(str(event.get("kind", "event")) for event in events)
    words = ", ".join(f"{count:,} × {kind}" for kind, count in counts.most_common())
    return _section("Events", _details(words, table(events[:_MOST_EVENTS])) + note)


def _is_numeric(column: Sequence[object]) -> bool:
    present = [cell(item) for item in column if item is not None]
    return bool(present) and all(_NUMBER.fullmatch(item) for item in present)
