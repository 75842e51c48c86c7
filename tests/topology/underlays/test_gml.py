"""Are maps in GML read as written, and broken ones refused?"""

import pytest

from unalike.errors import DataError
from unalike.topology.underlays.gml import parse_gml


def test_keys_lists_and_values_keep_their_order_and_kind():
    read = parse_gml('# a comment\ngraph [ a 1 b -2.5e3 c "two words" d word node [ id 0 ] node [ id 1 ] ]')
    graph = read.block("graph")
    assert [graph.get(key) for key in "abcd"] == [1, -2500.0, "two words", "word"]
    assert [node.get("id") for node in graph.blocks("node")] == [0, 1]
    assert graph.get("missing") is None


def test_texts_may_hold_brackets_hashes_new_lines_and_entities():
    graph = parse_gml('graph [ label "a [b] #1\nc" other "S&#227;o &amp; co" ]').block("graph")
    assert graph.get("label") == "a [b] #1\nc"
    assert graph.get("other") == "São & co"


def test_words_that_look_like_code_stay_words():
    assert parse_gml("graph [ label \"__import__('os')\" ]").block("graph").get("label") == "__import__('os')"


def test_deep_nesting_does_not_exhaust_the_stack():
    depth = 20_000
    read = parse_gml("a [ " * depth + "] " * depth)
    assert len(read.blocks("a")) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("graph [ node [ id 0 ]", "cut off"),
        ("graph [ id 0 ] ]", "closes nothing"),
        ("graph [\n\n [ 1 ] ]", "line 3 .* where a key belongs"),
        ('graph [\n label "endless ]', "line 2 .* never ends"),
        ("node [ id 0 ]", "one 'graph' list, but this file has 0"),
    ],
)
def test_malformed_files_are_refused_with_the_place(text, words):
    with pytest.raises(DataError, match=words):
        parse_gml(text).block("graph")
