"""Do the examples in the documentation run?"""

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from unalike.core.catalog import KINDS
from unalike.experiments.build import check
from unalike.experiments.config import read_experiment

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.fixture(autouse=True)
def forget_what_pages_register(monkeypatch):
    """Methods of a page are not among those that other tests count."""
    for kind in KINDS.values():
        registry = getattr(import_module(kind.home), kind.registry)
        monkeypatch.setattr(registry, "_makers", dict(registry._makers))


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block, capsys, monkeypatch):
    module = ModuleType("documentation")  # dataclasses look for their module
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block, "documentation", "exec"), module.__dict__)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_experiment_files_are_valid(path):
    check(read_experiment(path))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_example_scripts_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")


def test_the_readme_shows_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text
