"""Is the table of names what the source says, and what registries then hold?"""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from unalike.core.catalog import KINDS, explain
from unalike.core.names import names_of_kind
from unalike.core.registry import Registry

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_names  # noqa: E402


def registry(kind):
    return getattr(importlib.import_module(KINDS[kind].home), KINDS[kind].registry)


@pytest.mark.parametrize(("package", "file"), make_names.TABLES.items(), ids=lambda path: path.name)
def test_the_table_is_what_the_source_says(package, file):
    table = make_names.make_table(package)
    assert file.read_text() == make_names.as_text(table), "run `python tools/make_names.py`"


def test_every_kind_has_its_place_in_the_order():
    assert list(KINDS) == list(make_names.ORDER)


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_is_the_object_that_is_registered_under_it(kind):
    known = registry(kind)
    assert known.kind == KINDS[kind].word
    assert list(names_of_kind(kind)) == [name for name in known if name in names_of_kind(kind)]
    for name, entry in names_of_kind(kind).items():
        maker = known[name]
        assert (maker.__module__, maker.__qualname__) == (entry.module, entry.attribute)
    assert {name: known.explain()[name] for name in names_of_kind(kind)} == {
        n: e.about for n, e in names_of_kind(kind).items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_registered_that_the_table_does_not_have(kind):
    """Makers of this package, once all of its modules that can be named are imported."""
    known = registry(kind)
    own = [name for name in known if known[name].__module__.startswith(("unalike.", "unalike_studies."))]
    assert own == list(names_of_kind(kind))


LAZY = """
import sys
from unalike.algorithms import algorithm_registry
assert "unalike.algorithms.scaffold" not in sys.modules
assert "scaffold" in algorithm_registry and "scaffold" in list(algorithm_registry)
assert "unalike.algorithms.scaffold" not in sys.modules
assert algorithm_registry["scaffold"].__name__ == "Scaffold"
assert "unalike.algorithms.scaffold" in sys.modules
assert "unalike.algorithms.mocha" not in sys.modules
from unalike.aggregation.base import aggregator_registry
assert aggregator_registry.make("median").__class__.__name__ == "Median"
"""


def test_a_registry_imports_what_is_asked_for_and_nothing_else():
    subprocess.run([sys.executable, "-c", LAZY], check=True)


def test_a_makers_module_that_cannot_be_imported_is_a_sentence(monkeypatch):
    from unalike.errors import ConfigError

    def missing(module):
        raise ModuleNotFoundError("No module named 'flwr'")

    monkeypatch.setattr("unalike.core.registry.importlib.import_module", missing)
    with pytest.raises(ConfigError, match="engine 'flower' cannot be imported here"):
        Registry("engine", "engines")["flower"]


def test_ones_own_maker_of_a_listed_name_stays():
    registry, entry = Registry("skew", "skews"), names_of_kind("skews")["rotation"]
    own = registry.add("rotation")(lambda: "mine")
    listed = getattr(importlib.import_module(entry.module), entry.attribute)
    assert registry.add("rotation")(listed) is listed
    assert registry["rotation"] is own
    assert explain("skews")["rotation"] == entry.about
