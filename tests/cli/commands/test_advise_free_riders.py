"""Does `unalike advise free-riders` answer people and machines?"""

import json

import pytest

from unalike.errors import ConfigError

from .test_advise import type_in

FEW = ("free-riders", "--clients", "5", "--samples", "300", "--steps", "5", "--model", "linear")


def test_people_see_what_each_number_does_and_what_gives_it_away():
    output = type_in(*FEW, "--numbers", "1,5")
    for word in ("slower", "V plain", "printed", "an erratum", "free-riders double", "replay", "5 honest"):
        assert word in output
    assert "50.0%" in output


def test_machines_get_everything():
    answer = json.loads(type_in(*FEW, "--numbers", "5", "--json"))
    (report,) = answer["reports"]
    assert report["share"] == pytest.approx(0.5)
    assert answer["parameters"] == 650
    assert report["slow_down"] > 2 > 0 < report["variance"] < report["printed_variance"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--numbers", "some"), "whole numbers of free-riders"),
        (("--numbers", "1,-5"), "whole numbers of free-riders"),
        (("--declared", "all"), "unknown declared size"),
        (("--epochs", "2"), "either epochs or steps"),
        (("--curvature", "0"), "curvature"),
    ],
)
def test_a_mistake_is_one_sentence(words, sentence):
    with pytest.raises(ConfigError, match=sentence):
        type_in(*FEW, *words)
