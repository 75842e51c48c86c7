"""Does every published value of a study name its place in a document?"""

import ast
from pathlib import Path

import pytest

import unalike_studies
from unalike_studies.study import Claim, matches, names_place

FILES = sorted(Path(unalike_studies.__file__).parent.rglob("*.py"))
POSITION = list(Claim.__dataclass_fields__).index("published")


def published_without_place(source):
    """The lines of calls that have a published value, but no place."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        name = getattr(call.func, "id", "")
        value = given.get("published")
        if name == "Claim" and len(call.args) > POSITION:
            value = call.args[POSITION]
        nothing = value is None or (isinstance(value, ast.Constant) and value.value is None)
        if not nothing and "place" not in given and None not in given:
            yield call.lineno


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_published_value_is_without_its_place(file):
    if file.name != "study.py" or file.parent.name != "unalike_studies":
        assert list(published_without_place(file.read_text())) == []


def written_places(source):
    """The texts that are given as places, or bound to that name; without what an f-string fills in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "place":
            yield from ((node.value.lineno, text) for text in literal(node.value))
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "place":
            yield from ((node.lineno, text) for text in literal(node.value))


def literal(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if node.value else []
    return (
        [text for part in (node.body, node.orelse) for text in literal(part)]
        if hasattr(node, "orelse")
        else []
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_place_is_a_table_figure_equation_or_section(file):
    wrong = [(line, text) for line, text in written_places(file.read_text()) if not names_place(text)]
    assert wrong == []


def test_a_pilot_is_no_place():
    with pytest.raises(ValueError, match="A9: a published value names its place"):
        Claim("A9", "words", 3.0, "3", 3.0, True, place="pilot of the specification")
    assert list(written_places("at_most('A', 'b', [1], 2, published=3, place='the pilot')")) == [
        (1, "the pilot")
    ]


def test_the_search_finds_what_it_looks_for():
    wrong = "at_most('A', 'b', [1], 2, published=3)\nClaim('A', 'b', 3, '', 1, True)\n"
    right = "at_most('A', 'b', [1], 2, published=3, place='Table 1')\nClaim('A', 'b', None, '', 1, True)\n"
    assert list(published_without_place(wrong)) == [1, 2]
    assert list(published_without_place(right)) == []


def test_a_claim_refuses_a_published_value_without_its_place():
    with pytest.raises(ValueError, match="A1: a published value names its place"):
        Claim("A1", "words", 3.0, "3", 3.0, True)


def test_a_number_without_a_place_is_expected_only():
    assert matches("A1", "words", 3.0, 3.0, 0.1).published is None
    claim = matches("A1", "words", 3.0, 3.0, 0.1, place="Table 2")
    assert (claim.published, claim.readable()["published"]) == (3.0, "3 (Table 2)")
