"""Do the names that people type become the things they mean, and mistakes become clear sentences?"""

import pytest

from unalike.algorithms import algorithm_registry
from unalike.core.registry import Registry, parse_spec, usage
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


@pytest.mark.parametrize(
    ("spec", "name", "arguments"),
    [
        ("iid", "iid", []),
        ("dirichlet:0.3", "dirichlet", [0.3]),
        ("mlp:200,200", "mlp", [200, 200]),
        (" mlp : 200 , 100 ", "mlp", [200, 100]),
        ("file:a.csv", "file", ["a.csv"]),
        ("x:", "x", []),
        ("x:1e-3,-2,word", "x", [0.001, -2, "word"]),
        ("path:c:d", "path", ["c:d"]),
    ],
)
def test_a_spec_is_a_name_and_its_arguments(spec, name, arguments):
    assert parse_spec(spec) == (name, arguments)


def test_whole_numbers_stay_whole():
    _, (whole, fraction) = parse_spec("x:3,3.0")
    assert type(whole) is int
    assert type(fraction) is float


def test_arguments_are_positional_and_context_fills_the_parameters_it_names(shapes):
    assert shapes.make("box:3", unit="cm", not_a_parameter=1) == (3, 2.0, "cm")
    assert shapes.make("box:3,4", unit="m") == (3, 4, "m")
    assert shapes.make("path:1,2,3") == (1, 2, 3)


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
