"""Figures are seen in notebooks and accepted by venues, without pyplot."""

import subprocess
import sys

import numpy as np
import pytest

import unalike
from unalike.core.figures import Figure
from unalike.data.partition_plot import draw_partition
from unalike.report import curves, save

METRICS = {"round": np.arange(3), "test_loss": np.array([3.0, 2.0, 1.0])}


def empty() -> Figure:
    figure = Figure(figsize=(2, 2))
    figure.subplots().set_title("words")
    return figure


FIGURES = {
    "plain": empty,
    "report": lambda: curves(METRICS, ["test_loss"]),
    "partition": lambda: draw_partition(unalike.load("digits", clients=3, samples=60)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_notebook_gets_an_image(name):
    assert FIGURES[name]()._repr_png_().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("name", FIGURES)
def test_pdf_files_embed_truetype_fonts(name, tmp_path):
    """Type 3 fonts are Matplotlib's default, and refused by several venues."""
    drawn = FIGURES[name]()
    drawn.savefig(tmp_path / "by_user.pdf")
    save(drawn, tmp_path / "by_us.pdf")
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert b"/Subtype /Type3" not in content
        assert b"/FontFile2" in content


def test_pyplot_is_not_imported():
    code = (
        "import sys; from unalike.core.figures import Figure; Figure()._repr_png_(); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
