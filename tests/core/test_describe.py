"""Are two objects described alike exactly where they were made alike?"""

import importlib
import importlib.util
import json
import sys
from functools import partial

import numpy as np
import pytest

from unalike import FedAvg, FedProx, Optimizer, Task
from unalike.core.describe import describe, difference, names_in
from unalike.core.user_code import digest_modules
from unalike.models import mlp

LONG = np.random.default_rng(0).normal(size=1000)


def same(one, other):
    return difference(json.loads(json.dumps(describe(one))), describe(other)) is None


@pytest.mark.parametrize(
    "make",
    [
        partial(FedProx, mu=0.3),
        lambda: Task.classification(mlp(8, input_shape=(3,), outputs=2), 2),
        lambda: {"weights": np.linspace(0, 1, 5), "names": {"b", "a"}},
    ],
)
def test_what_is_made_twice_in_the_same_way_is_described_alike(make):
    assert same(make(), make())


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        (FedProx(mu=0.3), FedProx(mu=0.4), "mu"),
        (FedAvg(optimizer=Optimizer("sgd", 0.1)), FedAvg(optimizer=Optimizer("adam", 0.1)), "optimizer.name"),
        (mlp(8, input_shape=(3,), outputs=2), mlp(9, input_shape=(3,), outputs=2), "init"),
        ({"a": np.array([1.0, 2.0])}, {"a": np.array([1.0, 3.0])}, "a"),
        ({"a": LONG}, {"a": LONG[::-1]}, "a"),
        ({"a": LONG}, {"a": -LONG}, "a"),
        ({"a": LONG}, {"a": np.where(np.arange(LONG.size) < 5, 2.0, LONG)}, "a"),
        ({"a": 1}, {"b": 1}, "a"),
        ({"a": 1.0}, {"a": None}, "a"),
    ],
)
def test_what_differs_is_named(one, other, where):
    assert difference(describe(one), describe(other))[0] == where


def test_rounding_is_no_difference_but_whole_numbers_are_exact():
    assert same({"a": 0.1, "b": np.nan}, {"a": 0.1 * (1 + 1e-6), "b": np.nan})
    assert not same({"a": 100_000}, {"a": 100_001})
    assert same({"a": LONG}, {"a": LONG.astype(np.float32).astype(np.float64)})


def test_an_object_that_contains_itself_has_a_description():
    own = {}
    own["own"] = own
    assert json.dumps(describe(own))


MODULE = "def scale(x):\n    return {factor} * x{comment}\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's own module, whose file can be written again."""
    path = tmp_path / "my_own_scaling.py"

    def write(factor, comment=""):
        path.write_text(MODULE.format(factor=factor, comment=comment))

    write(1)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, made)
    spec.loader.exec_module(made)
    return made, write


def test_code_of_a_users_module_counts_and_its_comments_do_not(module):
    made, write = module

    def digests():
        return digest_modules(names_in(describe({"by": made.scale})))

    first = digests()
    assert list(first) == ["my_own_scaling"]
    write(1, "  # the same")
    assert digests() == first
    write(2)
    assert digests() != first


def test_installed_libraries_and_this_package_are_no_code_of_the_user():
    assert digest_modules(names_in(describe({"a": np.sum, "b": FedAvg(), "c": json.dumps}))) == {}


@pytest.mark.parametrize("statement", ["from {} import FACTOR", "import {} as other\nFACTOR = other.FACTOR"])
def test_a_module_of_which_only_a_number_is_taken_counts_too(tmp_path, monkeypatch, statement):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_own_numbers.py").write_text("FACTOR = 2\n")
    lines = statement.format("my_own_numbers"), "def scale(x):\n    return FACTOR * x\n"
    (tmp_path / "my_own_user.py").write_text("\n".join(lines))
    for name in ("my_own_user", "my_own_numbers"):  # put back when the test is over
        monkeypatch.delitem(sys.modules, name, raising=False)
    made = importlib.import_module("my_own_user")
    before = digest_modules(names_in(describe({"by": made.scale})))
    assert list(before) == ["my_own_numbers", "my_own_user"]
    (tmp_path / "my_own_numbers.py").write_text("FACTOR = 3\n")
    assert digest_modules(names_in(describe({"by": made.scale}))) != before


@pytest.mark.parametrize("empty", [None, "", (), {}])
def test_a_setting_that_a_later_version_brought_is_no_difference_while_it_is_empty(empty):
    before, now = describe({"model": {"rate": 1.0}}), describe({"model": {"rate": 1.0, "norms": empty}})
    assert difference(before, now) is None
    assert difference(now, before) is None


@pytest.mark.parametrize("used", [0, False, "a", (0,), {"a": None}])
def test_a_setting_that_only_one_has_is_a_difference_when_it_is_used(used):
    before, now = describe({"model": {"rate": 1.0}}), describe({"model": {"rate": 1.0, "norms": used}})
    assert difference(before, now) == ("model.norms", None, describe(used))
