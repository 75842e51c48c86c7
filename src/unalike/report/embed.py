"""Figures embedded in HTML.

As inline SVG whose colors are the page's own, so that it follows the reader into the dark; or, when the
drawing has too many strokes for that, as a PNG. Neither asks the network for anything.
"""

from __future__ import annotations

import base64
import re
from html import escape
from io import BytesIO, StringIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..core.figure_style import FAINT, INK, MUTED, PALETTE, PAPER, is_ours, line_names

_LARGEST_SVG = 150_000
_READABLE = 78
"""Pixels of an inch of a figure, so that its words have ten."""
_VARIABLES = {INK: "ink", MUTED: "muted", FAINT: "faint", PAPER: "paper"} | {
    c: f"c{i}" for i, c in enumerate(PALETTE)
}
_LEAVE_OUT = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")  # between tags is text, which may say anything and stays as it is
_NAMESPACE = re.compile(r' xmlns(?::\w+)?="[^"]*"')
_IDENTIFIER = re.compile(r'\bid="|href="#|url\(#')


def embed(figure: Figure, identifier: str, description: str) -> str:
    """HTML that shows the figure; `identifier` keeps its inner names apart from those of other figures."""
    drawing = _svg(figure)
    if len(drawing) > _LARGEST_SVG:
        return _image(figure, description)
    themed = is_ours(figure)
    drawing = _TAG.sub(lambda tag: _adapt(tag[0], identifier, themed), drawing)
    return drawing.replace("<svg", f'<svg role="img" aria-label="{escape(description)}" {_width(figure)}', 1)


def legend(figure: Figure) -> str:
    """HTML that names the lines of a figure, a paragraph for each of its axes, for pages so narrow that words
    in the figure are too small."""
    names = "".join(_names(axes) for axes in figure.axes)
    return f'<div class="legend">{names}</div>' if names else ""


def _names(axes: Axes) -> str:
    marks = [f'<span style="color: {_ink(ink)}">{escape(text)}</span>' for text, ink in line_names(axes)]
    names = " ".join(marks)
    title = axes.get_title(loc="left") or axes.get_title()
    return f"<p><b>{escape(title)}</b> {names}</p>" if names else ""


def _ink(color: str) -> str:
    return f"var(--{_VARIABLES[color]})" if color in _VARIABLES else color


def _width(figure: Figure) -> str:
    """Below this width words could not be read: figures are moved sideways then. A phone shows them whole,
    with the names of lines below them."""
    return f'style="min-width: {round(_READABLE * figure.get_size_inches()[0])}px"'


def _svg(figure: Figure) -> str:
    buffer = StringIO()
    # Text stays text, which is small and takes the page's font; the salt makes equal figures equal bytes.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "unalike"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return _LEAVE_OUT.sub("", text[text.index("<svg") :])


def _adapt(tag: str, identifier: str, themed: bool) -> str:
    tag = _IDENTIFIER.sub(lambda match: f"{match[0]}{identifier}-", _NAMESPACE.sub("", tag))
    for color, name in _VARIABLES.items() if themed else ():
        tag = tag.replace(f": {color}", f": var(--{name})")
    return tag


def _image(figure: Figure, description: str) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{escape(description)}" {_width(figure)} src="data:image/png;base64,{data}">'
