"""Fitting one preprocessing of tables to the column facts of all clients."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import DataError
from ..files.agreement import agree_labels
from .column_facts import ColumnFacts, merge_facts
from .preparation import Coded, CodedNumbers, CodedWords, Preparation

MOST_WORDS = 1_000
"""Different values of a text column; each becomes a feature."""
LARGE = 10.0
"""Means and spreads beyond this make gradient descent with common learning rates diverge."""

Told = Mapping[str, Mapping[str, ColumnFacts]]
"""What every client tells of each of its columns."""


def fit_preparation(told: Told) -> Preparation:
    """One preparation for all; columns that are empty everywhere are left out.

    >>> import numpy as np
    >>> ages = ColumnFacts.of(np.array([40.0, 60.0]))
    >>> fit_preparation({"here": {"age": ages}, "there": {"age": ages}}).columns
    (CodedNumbers(name='age', mean=50.0, spread=10.0, gaps=False, dates=False),)
    """
    merged = merge_facts(told)
    kept = {name: facts for name, facts in merged.items() if facts.kind != "empty"}
    if not kept:
        raise DataError("no feature column has a value in any training row.")
    return Preparation(tuple(_fit_column(name, facts, told) for name, facts in kept.items()))


def needs_preparation(told: Told) -> bool:
    """Whether a model could not learn from columns as they are: text, dates, missing or large values."""
    return any(
        facts.kind != "numbers" or facts.gaps or max(abs(facts.mean), facts.spread) > LARGE
        for facts in merge_facts(told).values()
    )


def _fit_column(name: str, facts: ColumnFacts, told: Told) -> Coded:
    if facts.kind == "words":
        return _fit_categories(name, facts, told)
    spread = facts.spread if facts.spread > 0 else 1.0
    return CodedNumbers(name, facts.mean, spread, facts.gaps > 0, facts.kind == "dates")


def _fit_categories(name: str, facts: ColumnFacts, told: Told) -> CodedWords:
    if len(facts.words) > MOST_WORDS:
        raise DataError(
            f"column {name!r} has {len(facts.words):,} different values; at most {MOST_WORDS:,} can become "
            f"features; leave it out with --drop {name}, or group its values."
        )
    used = {client: list(facts[name].words) for client, facts in told.items() if facts[name].words}
    try:
        words = agree_labels(used)
    except DataError as error:
        raise DataError(f"column {name!r}: {str(error).replace('the label', 'the word')}") from None
    return CodedWords(name, words or (), facts.gaps > 0)
