"""Does a specification say what was typed, and is it the only one who takes the text apart?"""

import dataclasses
from pathlib import Path

import pytest

import unalike
from unalike.core.spec import Spec, number_or_word

SOURCES = Path(unalike.__file__).parent


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("iid", "iid", ()),
        ("dirichlet:0.3", "dirichlet", (0.3,)),
        ("mlp:200,200", "mlp", (200, 200)),
        (" mlp : 200 , 100 ", "mlp", (200, 100)),
        ("file:a.csv", "file", ("a.csv",)),
        ("x:", "x", ()),
        ("x:1e-3,-2,word", "x", (0.001, -2, "word")),
        ("path:c:d", "path", ("c:d",)),
    ],
)
def test_a_spec_is_a_name_and_its_arguments_and_gives_the_text_back(text, name, arguments):
    spec = Spec.parse(text)
    assert (spec.name, spec.arguments) == (name, arguments)
    assert str(spec) == spec.text == text
    assert Spec.of(text) == Spec.of(spec) == spec


def test_a_spec_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Spec.parse("iid").name = "dirichlet"
    assert len({Spec.parse("mlp:3"), Spec.parse("mlp:3")}) == 1


def test_whole_numbers_stay_whole():
    whole, fraction = Spec.parse("x:3,3.0").arguments
    assert type(whole) is int
    assert type(fraction) is float
    assert number_or_word("x3") == "x3"


def test_nobody_else_takes_specifications_apart():
    apart = [path for path in SOURCES.rglob("*.py") if '.partition(":")' in path.read_text(encoding="utf-8")]
    others = {path.relative_to(SOURCES).as_posix() for path in apart} - {"core/spec.py"}
    assert others <= {"engine/ray/session.py"}  # an address, whose port follows a colon
