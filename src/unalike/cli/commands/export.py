"""`unalike export`: export a trained model to other tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import typer
from rich.markup import escape

from ...core.extras import check_extra
from ...core.run_files import check_run
from ..screen import console, print_json


def export(
    folder: Path = typer.Argument(..., help="Run folder, of a finished run."),
    format: Literal["safetensors", "onnx"] = typer.Option(
        "safetensors", help="safetensors has the names and layouts of PyTorch's state_dict."
    ),
    client: str | None = typer.Option(
        None, help="Client whose own model is meant, by name.", show_default="the model that all share"
    ),
    out: Path | None = typer.Option(None, help="File to write.", show_default="RUN.FORMAT beside the run"),
    json: bool = typer.Option(False, "--json", help="Print what was written as JSON."),
) -> None:
    """Export a trained model: weights for PyTorch, or a graph for any ONNX runtime.

    Example: unalike export runs/digits-fedavg-seed0 --format onnx --out digits.onnx
    """
    check_run(folder)
    if format == "onnx":
        check_extra("onnx", "onnx", "exporting to ONNX")
    from ...experiments.export import export_folder

    written = export_folder(folder, out or _beside(folder, format, client), format, client)
    if json:
        print_json({"file": str(written), "format": format, "client": client})
    else:
        console.print(f"Wrote [bold]{escape(str(written))}[/bold].", soft_wrap=True)


def _beside(folder: Path, format: str, client: str | None) -> Path:
    whole, who = folder.resolve(), "" if client is None else "-" + re.sub(r"[^\w.-]", "_", client)
    return whole.with_name(f"{whole.name}{who}.{format}")
