"""Figures without pyplot, for notebooks and papers.

A Matplotlib `Figure` that no pyplot has made shows itself in a notebook only by its name, and PDF files embed
Type 3 fonts by default, which several venues refuse. Importing pyplot would open windows and change the
settings of whoever imports us, so the figure knows both itself.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as MatplotlibFigure

_TRUETYPE: Any = {"pdf.fonttype": 42, "ps.fonttype": 42}
_DPI = 100


class Figure(MatplotlibFigure):
    """A Matplotlib figure that a notebook displays as an image, and whose PDF files embed TrueType fonts."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Save as Matplotlib does, with TrueType fonts in PDF and PostScript."""
        with mpl.rc_context(_TRUETYPE):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=_DPI)
        return buffer.getvalue()
