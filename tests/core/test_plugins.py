"""A user's own file is run when it is asked for, and never by what it is mentioned in."""

import importlib.metadata
import os
import sys

import pytest

from unalike.core import plugins
from unalike.errors import ConfigError

CODE = """
from unalike.data.skews import skew_registry


@skew_registry.add("upside-down")
def upside_down(*, federation):
    "Everything upside down."
    return federation
"""


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setenv(plugins.VARIABLE, "")
    path = tmp_path / "upside_down_plugin.py"
    path.write_text(CODE)
    yield path
    sys.modules.pop(path.stem, None)
    from unalike.data.skews import skew_registry

    skew_registry._makers.pop("upside-down", None)


def test_names_of_a_file_are_known_wherever_names_are(own_file):
    from unalike.core.catalog import check_name, explain

    left = plugins.take_plugins(["list", "--plugin", str(own_file), "skews", f"--plugin={own_file}"])
    assert left == ["list", "skews"]
    check_name("skews", "upside-down")
    assert explain("skews")["upside-down"] == "Everything upside down."
    assert os.environ[plugins.VARIABLE] == str(own_file)  # for processes that are started from here
    assert [module.__name__ for module in plugins.loaded_plugins()] == [own_file.stem]


def test_started_processes_load_what_they_inherit(own_file, monkeypatch):
    monkeypatch.setenv(plugins.VARIABLE, str(own_file))
    plugins.load_inherited()
    assert own_file.stem in sys.modules


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("gone.py", None, "not a Python file"),
        ("notes.txt", "", "not a Python file"),
        ("json.py", "", "name of another module"),
        ("broken_plugin.py", "a = 1\nb = a / 0", "fails in line 2: ZeroDivisionError"),
        ("half_plugin.py", "def f(:", "fails in line 1: SyntaxError"),
    ],
)
def test_files_that_cannot_be_loaded_are_one_sentence(own_file, name, code, words):
    path = own_file.with_name(name)
    if code is not None:
        path.write_text(code)
    with pytest.raises(ConfigError, match=words):
        plugins.load_plugin(path)
    with pytest.raises(ConfigError, match="needs the path"):
        plugins.take_plugins(["run", "--plugin"])


def test_a_broken_package_is_said_and_passed_over(own_file, monkeypatch):
    entry = importlib.metadata.EntryPoint("broken", "no_such_module_at_all", plugins.GROUP)
    monkeypatch.setattr(plugins.importlib.metadata, "entry_points", lambda group: [entry])
    with pytest.warns(UserWarning, match="the plugin broken cannot be loaded"):
        plugins.load_inherited()
