"""Paired tests between methods.

Methods are compared over the same seeds: a mean with its confidence interval for every metric, and for the
metric that matters a paired test of each method against a baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import RunError, unknown
from ..models.metrics import metric_columns
from ..typing import Fields, Float64s, Row
from .statistics import higher_is_better, mean_interval, paired_test

Seeds = Sequence[Mapping[str, float]]
Results = Mapping[str, Seeds]
NOT_TRAINED = "not trained"
_BESIDE = {
    "clients_mean": "clients' mean",
    "bottom_decile": "bottom decile",
    "spread": "spread",
    "worst_group": "worst group",
    "discrepancy": "discrepancy",
    "loss_spread": "loss spread",
    "worse_than_alone": "worse than alone",
}
"""What a person also wants to see of a method, and what the column is called."""
UNTRAINED = "untrained"
"""An entry of a seed's result: 1 where all uploads were rejected, so that nothing was trained."""
REACHED = "reached_target"
TO_TARGET = {
    "rounds_to_target": ("rounds to target", 1.0),
    "bytes_to_target": ("MB to target", 1e6),
    "time_to_target": ("time to target", 1.0),
}
"""What it took to reach a target, what the column is called, and in which unit it is shown."""


@dataclass(frozen=True)
class Comparison:
    """The answer of :func:`compare`; `clients` may hold sorted per-client values by method, for plotting."""

    metric: str
    baseline: str
    rows: list[Row]
    clients: dict[str, Float64s] = field(default_factory=dict)
    higher: bool | None = None
    """Whether larger values are better, where the metric's name does not say so."""
    leader: str | None = None
    """The best method, if its paired differences to all others have 95 % intervals without zero."""

    @property
    def best(self) -> str:
        """The method with the best mean, by luck or not; one that failed on a seed is never best."""
        sign = 1 if (higher_is_better(self.metric) if self.higher is None else self.higher) else -1
        means = {row["method"]: sign * row[self.metric] for row in self.rows}
        return max(means, key=lambda name: -math.inf if math.isnan(means[name]) else means[name])

    def table(self) -> list[Row]:
        """One dict per method that JSON can hold: what is not a number is None."""
        return [{key: _finite(value) for key, value in row.items()} for row in self.rows]

    def untrained(self) -> list[str]:
        """A sentence for each method of which a run rejected all uploads: it was not trained."""
        return [
            f"{row['method']}: all uploads of {row[UNTRAINED]} of {row['seeds']} runs were rejected, so that "
            "nothing was trained; the method takes no part in tests and is never best."
            for row in self.rows
            if row[UNTRAINED]
        ]

    def readable(self) -> list[dict[str, str]]:
        """One dict of short texts per method, for a person."""
        return [_readable(row, self.metric, self.baseline) for row in self.rows]


def compare(
    results: Results,
    metric: str,
    baseline: str | None = None,
    clients: Mapping[str, Float64s] | None = None,
    higher: bool | None = None,
    paired: bool = True,
) -> Comparison:
    """Compare methods by their final metrics, one dict per seed; the baseline is the first unless named.

    Seeds are paired by an entry `seed` where every dict has one, else by position. Methods that were not
    `paired`, because they saw other data, are not tested against each other.

    >>> fedavg, ditto = [{"accuracy": 0.7}, {"accuracy": 0.8}], [{"accuracy": 0.8}, {"accuracy": 0.9}]
    >>> answer = compare({"fedavg": fedavg, "ditto": ditto}, "accuracy")
    >>> answer.best, round(answer.table()[1]["difference"], 3)
    ('ditto', 0.1)
    """
    if not results or not all(results.values()):
        raise RunError("there is nothing to compare: every method needs at least one result.")
    baseline = next(iter(results)) if baseline is None else baseline
    if baseline not in results:
        raise unknown("baseline", baseline, results)
    names = _metrics(results)
    if metric not in names:
        raise unknown("metric", metric, names)
    rows = [
        {
            **_means(name, seeds, names, metric),
            **_against(_pairs(seeds, results[baseline]) if paired else [], metric, name == baseline),
        }
        for name, seeds in results.items()
    ]
    ordered = {name: np.sort(values) for name, values in (clients or {}).items()}
    answer = Comparison(metric, baseline, rows, ordered, higher)
    return replace(answer, leader=answer.best if paired and _leads(results, metric, answer.best) else None)


def _leads(results: Results, metric: str, best: str) -> bool:
    """Whether the interval of the paired difference between a method and every other one leaves out zero; an
    interval of equal differences, which have no test, says nothing."""
    trained = [name for name, seeds in results.items() if not all(map(_is_untrained, seeds))]
    others = [_pairs(results[best], results[name]) for name in trained if name != best]
    tests = [
        paired_test(_values([a for a, _ in pairs], metric), _values([b for _, b in pairs], metric))
        for pairs in others
        if len(pairs) > 1
    ]
    sure = [math.isfinite(test["p_t"]) and abs(test["difference"]) > test["half_width"] for test in tests]
    return bool(others) and len(sure) == len(others) and all(sure)


def _metrics(results: Results) -> list[str]:
    seen = {name: None for seeds in results.values() for result in seeds for name in result}
    return [name for name in seen if name not in ("seed", UNTRAINED)]


def _means(method: str, seeds: Seeds, names: list[str], metric: str) -> Row:
    row: Row = {"method": method, "seeds": len(seeds), "failed": _failures(seeds, metric)}
    row[UNTRAINED] = sum(map(_is_untrained, seeds))
    for name in names:
        row[name], row[f"{name}_half_width"] = mean_interval(_values(seeds, name))
    return row


def _against(
    pairs: list[tuple[Mapping[str, float], Mapping[str, float]]], metric: str, is_baseline: bool
) -> Row:
    """The paired test, or Nones for the baseline itself and for seeds that cannot be paired."""
    keys = ("difference", "difference_half_width", "p_t", "p_free", "free_test")
    if is_baseline or not pairs:
        return dict.fromkeys(keys)
    test = paired_test(_values([a for a, _ in pairs], metric), _values([b for _, b in pairs], metric))
    return dict(zip(keys, (test[k] for k in ("difference", "half_width", *keys[2:])), strict=True))


def _pairs(seeds: Seeds, reference: Seeds) -> list[tuple[Mapping[str, float], Mapping[str, float]]]:
    if all("seed" in result for result in (*seeds, *reference)):
        by_seed = {result["seed"]: result for result in reference}
        return [(result, by_seed[result["seed"]]) for result in seeds if result["seed"] in by_seed]
    return list(zip(seeds, reference, strict=True)) if len(seeds) == len(reference) else []


def _values(seeds: Seeds, name: str) -> list[float]:
    """What was measured; of a training in which nothing was trained, nothing."""
    return [np.nan if _is_untrained(result) else float(result.get(name, np.nan)) for result in seeds]


def _is_untrained(result: Mapping[str, float]) -> bool:
    return bool(result.get(UNTRAINED, 0))


def _failures(seeds: Seeds, metric: str) -> int:
    return int(np.sum(~np.isfinite(_values(seeds, metric))))


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _readable(row: Fields, metric: str, baseline: str) -> dict[str, str]:
    beside = {
        words: _or_dash(row[name], ".4f")
        for name, words in {**_newcomer_columns(row, metric), **_regret_column(metric), **_BESIDE}.items()
        if name in row and name != metric
    }
    return {
        "method": row["method"],
        metric: NOT_TRAINED if row[UNTRAINED] else _interval(row[metric], row[f"{metric}_half_width"]),
        **beside,
        **_to_target(row),
        f"against {baseline}": ""
        if row[UNTRAINED]
        else _interval(row["difference"], row["difference_half_width"], "+.4f"),
        "p (t)": "" if row["seeds"] < 2 or row["p_t"] is None else _or_dash(row["p_t"], ".3g"),
    }


def _to_target(row: Fields) -> dict[str, str]:
    """What it took to reach the target; where not all seeds did, a mean would be of the lucky ones alone."""
    missed = row["seeds"] - round(row.get(REACHED, 1) * row["seeds"])
    shown = {}
    for name, (words, unit) in TO_TARGET.items():
        if name in row:
            mean, half_width = row[name] / unit, row[f"{name}_half_width"] / unit
            shown[words] = f"missed by {missed} of {row['seeds']}" if missed else _spread(mean, half_width)
    return shown


def _spread(mean: float, half_width: float) -> str:
    """Four digits that matter, and an interval where there is one.

    >>> _spread(12.0, math.nan), _spread(12.3456, 1.23456)
    ('12', '12.35 ± 1.235')
    """
    return f"{mean:.4g}" if math.isnan(half_width) else f"{mean:.4g} ± {half_width:.4g}"


def _newcomer_columns(row: Fields, metric: str) -> dict[str, str]:
    """The column of clients that joined later: of the metric that decides, if they have it."""
    names = metric_columns((name for name in row if not name.endswith("_half_width")), "unseen_")
    same = metric.replace("test_", "unseen_")
    return dict.fromkeys([name for name in names if name == same] or names[:1], "unseen")


def _regret_column(metric: str) -> dict[str, str]:
    """The column of regret on a stream: of the metric that decides."""
    return {metric.replace("test_", "regret_"): "regret"}


def _interval(mean: float | None, half_width: float | None, style: str = ".4f") -> str:
    if half_width is None or math.isnan(half_width):
        return _number(mean, style)
    return f"{_number(mean, style)} ± {half_width:.4f}"


def _or_dash(value: float, style: str) -> str:
    """A dash where there is no such number, though nothing failed."""
    return "–" if math.isnan(value) else format(value, style)


def _number(value: float | None, style: str) -> str:
    return "" if value is None else "failed" if math.isnan(value) else format(value, style)
