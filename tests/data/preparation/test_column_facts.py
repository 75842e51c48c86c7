"""Facts of parts are the facts of the whole."""

import numpy as np
import pytest

from unalike.data.preprocessing.column_facts import ColumnFacts, merge_facts
from unalike.errors import DataError


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_facts_that_are_merged_are_those_of_the_pooled_rows(pieces):
    rng = np.random.default_rng(pieces)
    column = rng.normal(1e6, 1.0, 200)  # a mean that would swallow the spread if squares were summed
    column[rng.choice(200, 30, replace=False)] = np.nan
    told = {str(i): {"a": ColumnFacts.of(part)} for i, part in enumerate(np.array_split(column, pieces))}
    merged = merge_facts(told)["a"]
    known = column[~np.isnan(column)]
    assert (merged.rows, merged.gaps) == (200, 30)
    np.testing.assert_allclose([merged.mean, merged.spread], [known.mean(), known.std()], rtol=1e-9)


def test_words_are_counted_whoever_writes_them():
    here, there = (ColumnFacts.of(np.array(words)) for words in (["m", "f ", ""], ["f", "x"]))
    merged = here.merged(there)
    assert (merged.kind, merged.gaps, dict(merged.words)) == ("words", 1, {"f": 2, "m": 1, "x": 1})


def test_dates_are_days():
    facts = ColumnFacts.of(np.array(["1970-01-03", "", "1970-01-05"]))
    assert (facts.kind, facts.mean, facts.gaps) == ("dates", 3.0, 1)


def test_a_column_without_values_takes_any_kind():
    empty, words = ColumnFacts.of(np.full(2, np.nan)), ColumnFacts.of(np.array(["a"]))
    assert [empty.merged(words).kind, words.merged(empty).kind] == ["words", "words"]


def test_clients_that_mean_different_things_are_named():
    told = {"basel": {"sex": ColumnFacts.of(np.array(["m"]))}, "bern": {"sex": ColumnFacts.of(np.ones(2))}}
    with pytest.raises(DataError, match="'sex' has words at client 'basel' but numbers at client 'bern'"):
        merge_facts(told)


def test_infinite_numbers_and_essays_are_refused():
    with pytest.raises(DataError, match="infinite"):
        ColumnFacts.of(np.array([1.0, np.inf]))
    with pytest.raises(DataError, match="more than 200 characters"):
        ColumnFacts.of(np.array(["long " * 50]))
