"""A fresh machine gets the versions that were tested: constraints.txt pins what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PINS = dict(line.split("==") for line in LINES)
NOT_INSTALLED = {"mlflow", "wandb"}
"""Extras that tests do not install, so that no version of them was tested."""
ASKED = [
    Requirement(line)
    for group in (
        PROJECT["build-system"]["requires"],
        PROJECT["project"]["dependencies"],
        *(
            lines
            for extra, lines in PROJECT["project"]["optional-dependencies"].items()
            if extra not in NOT_INSTALLED
        ),
    )
    for line in group
]


@pytest.mark.parametrize("requirement", {str(asked): asked for asked in ASKED}.values(), ids=str)
def test_everything_asked_for_is_pinned_within_its_bounds(requirement):
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)])


def test_pins_are_names_and_versions_and_no_more():
    """No address, no path, no marker, and nothing that only machines with accelerators have."""
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in LINES)
    assert sorted(PINS) == [line.split("==")[0] for line in LINES]
    assert not [name for name in PINS if "nvidia" in name or "cuda" in name or name == "unalike"]


@pytest.mark.parametrize("name", ["jax", "flwr"])
def test_what_breaks_often_has_an_upper_bound(name):
    bounded = [asked for asked in ASKED if asked.name == name]
    assert bounded
    assert all("<" in str(asked.specifier) for asked in bounded)


def test_make_installs_nothing_without_the_constraints():
    recipes = (ROOT / "Makefile").read_text()
    installs = [line for line in recipes.splitlines() if "pip install" in line]
    assert installs
    assert all("--constraint constraints.txt" in line for line in installs)
