"""Text formatting of names and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..core.catalog import separate
from ..core.spec import Spec
from ..models.metrics import is_share, label_of, metric_columns
from ..typing import Config

_SPLITS = ("train", "validation", "test")
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def split_and_quantity(metric: str) -> tuple[str, str]:
    """Which rows a metric was measured on, if its name says so, and what it measures.

    >>> split_and_quantity("test_accuracy"), split_and_quantity("participants")
    (('test', 'accuracy'), ('', 'participants'))
    """
    split, _, quantity = metric.partition("_")
    return (split, quantity) if split in _SPLITS and quantity else ("", metric)


def title(name: str) -> str:
    """A name as the beginning of a sentence.

    >>> title("test_accuracy"), title("test_rmse")
    ('Test accuracy', 'Test RMSE')
    """
    words = label_of(name)
    return words[:1].upper() + words[1:]


def requested_metrics(config: Config) -> list[str]:
    """The metrics that a configuration asks for, in order.

    >>> requested_metrics({"metrics": "f1,auc:500"}), requested_metrics({})
    (['f1', 'auc'], [])
    """
    return [Spec.parse(words).name for words in separate(str(config.get("metrics") or ""))]


def scores(columns: Iterable[str], prefix: str = "test_", first: Sequence[str] = ()) -> list[str]:
    """Columns of metrics, the one that judges first and the loss last.

    >>> scores(["test_auc", "test_f1", "test_loss"])
    ['test_f1', 'test_auc', 'test_loss']
    """
    return [*metric_columns(columns, prefix, first), f"{prefix}loss"]


def value(metric: str, number: float) -> str:
    """A metric's value, short.

    >>> value("test_accuracy", 0.8314), value("test_loss", 0.54321)
    ('83.1 %', '0.5432')
    """
    if math.isnan(number):
        return "–"
    return f"{100 * number:.1f} %" if is_share(metric) else number_text(number)


def number_text(number: float) -> str:
    """A number with four digits that matter, and thousands apart.

    >>> number_text(12345), number_text(0.123456), number_text(3.0), number_text(1e-9)
    ('12,345', '0.1235', '3', '1e-09')
    """
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 1000 and math.isfinite(number) else f"{number:.4g}"


def bytes_text(count: float) -> str:
    """Bytes in the unit that reads best.

    >>> bytes_text(1_250_000), bytes_text(12)
    ('1.25 MB', '12 B')
    """
    power = min(int(math.log10(count) // 3), len(_UNITS) - 1) if count >= 1 else 0
    return f"{count / 1000**power:.3g} {_UNITS[power]}"


def seconds_text(seconds: float) -> str:
    """A duration.

    >>> seconds_text(0.25), seconds_text(75), seconds_text(7300)
    ('0.25 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def cell(content: object) -> str:
    """What stands in a cell of a table.

    >>> cell(None), cell(0.5), cell(True), cell([1, 2])
    ('', '0.5', 'yes', '1, 2')
    """
    if content is None:
        return ""
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, float):
        return number_text(content)
    return ", ".join(map(cell, content)) if isinstance(content, list | tuple) else str(content)
