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
NOT_INSTALLED = {"mlflow", "wandb", "ipywidgets", "torch"}
"""Packages of extras that tests do not install, so that no version of them was tested."""
EXTRAS = PROJECT["project"]["optional-dependencies"]
ASKED = [
    Requirement(line)
    for group in (
        PROJECT["build-system"]["requires"],
        PROJECT["project"]["dependencies"],
        *EXTRAS.values(),
    )
    for line in group
    if Requirement(line).name not in {*NOT_INSTALLED, PROJECT["project"]["name"]}
]
NEEDED_BY = {
    r"unalike tune\b": "tune",
    r"unalike analyze\b": "analytics",
    r"unalike (serve|join|certs)\b": "flower",
    r"--engine ray\b": "ray",
    r"--format onnx\b": "onnx",
    r"--drift-detector\b": "drift",
    r"\.parquet\b": "parquet",
    r"sql:": "sql",
    r"--track \S*tensorboard": "tensorboard",
    r"--track \S*mlflow": "mlflow",
    r"--track \S*wandb": "wandb",
}
"""What a command asks for, and the extra without which it is refused."""


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


def extras_of_all() -> set[str]:
    return {extra for line in EXTRAS["all"] for extra in Requirement(line).extras}


def test_make_demo_installs_what_the_commands_of_the_readme_need():
    lines = (ROOT / "README.md").read_text().splitlines()
    commands = [line for line in lines if line.startswith("unalike ")]
    needed = {extra for words, extra in NEEDED_BY.items() if any(re.search(words, line) for line in commands)}
    assert {"tune", "analytics", "flower", "ray", "onnx"} <= needed
    assert needed <= extras_of_all() <= set(EXTRAS)
    plain = re.search(r"^\$\(BIN\)/\.plain:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "'.[all]'" in plain[1]


def test_the_page_on_installing_lists_every_extra():
    rows = re.findall(r"^\| (`[^|]*) \|", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    listed = [extra for row in rows for extra in re.findall(r"`([a-z]+)`", row)]
    assert sorted(listed) == sorted(EXTRAS)


def test_the_notebook_extra_has_what_the_progress_bar_needs_there():
    """Rich draws live bars in notebooks by ipywidgets, and warns where it is missing."""
    assert {"ipywidgets", "pandas"} <= {Requirement(line).name for line in EXTRAS["notebook"]}
