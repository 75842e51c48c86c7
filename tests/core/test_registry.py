"""Do the names that people type become the things they mean, and mistakes become clear sentences?"""

import pytest

from unalike.algorithms import algorithm_registry
from unalike.core.registry import Registry, usage
from unalike.core.spec import Spec
from unalike.errors import ConfigError
from unalike.models import loss_registry, model_registry
from unalike.participation import sampler_registry
from unalike.timing import timing_registry


@pytest.fixture
def shapes():
    registry = Registry("shape")

    @registry.add("box")
    def box(width=1.0, height=2.0, *, unit):
        """A box.

        With more to say.
        """
        return (width, height, unit)

    @registry.add("path")
    def path(*corners):
        return corners

    return registry


def test_arguments_are_positional_and_context_fills_the_parameters_it_names(shapes):
    assert shapes.make("box:3", unit="cm", not_a_parameter=1) == (3, 2.0, "cm")
    assert shapes.make("box:3,4", unit="m") == (3, 4, "m")
    assert shapes.make("path:1,2,3") == (1, 2, 3)


def test_a_text_and_what_was_taken_apart_already_make_the_same(shapes):
    spec = Spec.parse("box:3,4")
    assert shapes.make(spec, unit="m") == shapes.make("box:3,4", unit="m")
    assert shapes[spec] is shapes["box"]
    assert spec in shapes
    assert Spec.parse("cube:1") not in shapes


@pytest.mark.parametrize("given", ["box: 1,2,3", "boxx: 1"])
def test_a_mistake_is_the_same_sentence_for_both(shapes, given):
    sentences = []
    for spec in (given, Spec.parse(given)):
        with pytest.raises(ConfigError) as refusal:
            shapes.make(spec, unit="cm")
        sentences.append(str(refusal.value))
    assert sentences[0] == sentences[1]


def test_too_many_arguments_are_an_error_that_shows_the_usage(shapes):
    with pytest.raises(ConfigError, match=r"box:width=1\.0,height=2\.0"):
        shapes.make("box:1,2,3", unit="cm")


def test_a_missing_parameter_is_an_error(shapes):
    with pytest.raises(ConfigError, match="unit"):
        shapes.make("box")


def test_an_unknown_name_is_an_error_with_the_nearest_spelling(shapes):
    with pytest.raises(ConfigError, match=r"unknown shape 'boxx'; did you mean 'box'\? Allowed: box, path\."):
        shapes.make("boxx:1")
    with pytest.raises(ConfigError, match=r"Allowed: box, path\."):
        shapes["zzz"]


def test_a_registry_behaves_like_a_set_of_names_in_order(shapes):
    assert list(shapes) == ["box", "path"]
    assert "box" in shapes
    assert "cube" not in shapes
    assert shapes.explain() == {"box": "A box.", "path": ""}


def test_usage_shows_only_what_may_follow_the_colon(shapes):
    assert usage("box", shapes["box"]) == "box:width=1.0,height=2.0"
    assert usage("path", shapes["path"]) == "path:corners"


@pytest.mark.parametrize(
    "registry", [algorithm_registry, loss_registry, model_registry, sampler_registry, timing_registry]
)
def test_everything_that_can_be_named_is_explained_by_a_whole_sentence_or_more(registry):
    cut = {name: line for name, line in registry.explain().items() if not line.endswith((".", ".)"))}
    assert not cut
