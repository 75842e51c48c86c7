"""A run in a notebook: data frames, figures, and a few lines of HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..core.extras import import_extra
from ..errors import ConfigError, unknown

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..core.figures import Figure
    from .run import Run

WHAT = ("rounds", "clients", "events")


def to_pandas(run: Run, what: str = "rounds") -> DataFrame:
    """One row per round, per client at the last evaluation, or per event."""
    if what not in WHAT:
        raise unknown("table of a run", what, WHAT)
    pandas = import_extra("pandas", "notebook", "to_pandas()")
    if what == "events":
        return pandas.DataFrame(run.events())
    if what == "rounds":
        return pandas.DataFrame(run.metrics()).set_index("round")
    columns = run.client_metrics()
    names = [run.setting.federation.name(int(i)) for i in columns["client"]]
    return pandas.DataFrame({**columns, "client": names}).set_index("client")


def plot_run(run: Run, metric: str | None = None) -> Figure:
    """A figure of one metric over rounds, or of all losses and the metric that judges."""
    from ..core.figures import Figure

    columns = run.metrics()
    measured = [name for name in columns if name != "round" and np.isfinite(columns[name]).any()]
    if metric is not None and metric not in measured:
        raise unknown("metric", metric, measured)
    panels = [[metric]] if metric else _panels(measured)
    if not panels:
        raise ConfigError("nothing was measured that could be drawn.")
    figure = Figure(figsize=(5 * len(panels), 3.5), layout="constrained")
    for axes, names in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        for name in names:
            known = np.isfinite(columns[name])
            axes.plot(columns["round"][known], columns[name][known], label=name.replace("_", " "))
        axes.set_xlabel("round")
        axes.legend(frameon=False)
    return figure


def run_as_html(run: Run) -> str:
    """A few lines, and the last evaluation as a table."""
    columns = run.metrics()
    last = {
        name: values[np.isfinite(values)][-1]
        for name, values in columns.items()
        if name != "round" and np.isfinite(values).any()
    }
    rows = "".join(
        f"<tr><td>{escape(name.replace('_', ' '))}</td><td>{value:.4g}</td></tr>"
        for name, value in last.items()
        if name.startswith(("train_", "test_", "validation_", "unseen_"))
    )
    head = escape(repr(run).splitlines()[0])
    return f"<p><b>{head}</b></p><table>{rows}</table>"


def _panels(measured: list[str]) -> list[list[str]]:
    losses = [name for name in measured if name in ("train_loss", "test_loss")]
    judged = [name for name in measured if name.startswith("test_") and name != "test_loss"][:1]
    return [names for names in (losses, judged) if names]
