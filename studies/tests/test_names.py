"""Are the names that are listed those of the studies, and is the package what its project file says?"""

import importlib
import tomllib
from pathlib import Path

import unalike
from unalike.core.studies import GROUP, PACKAGE, study_names
from unalike_studies import study_registry

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text())["project"]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]


def test_names_are_those_that_are_registered():
    listed = study_names()
    assert {name: study["about"] for name, study in listed.items()} == study_registry.explain()
    for name, study in listed.items():
        module, _, maker = study["object"].partition(":")
        assert getattr(importlib.import_module(module), maker) is study_registry[name]


def test_studies_go_with_the_version_of_the_package():
    major, minor, _ = (int(part) for part in unalike.__version__.split("."))
    assert PROJECT["dynamic"] == ["version"]  # that of the package, which lies beside it
    assert PROJECT["dependencies"] == [f"unalike>={major}.{minor},<{major}.{minor + 1}"]


def test_the_project_file_names_the_entry_point_that_is_looked_for():
    assert PROJECT["entry-points"] == {GROUP: {PACKAGE: PACKAGE}}


def test_the_wheel_of_the_package_has_no_studies():
    assert PACKAGES == {"packages": ["src/unalike"]}
    assert not list((ROOT / "src").rglob("unalike_studies*"))
