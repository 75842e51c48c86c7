"""Do the pages' examples with PyTorch run?"""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")

from unalike.models import model_registry  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"


PAGES = ["coming_from", "from_pytorch"]


@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_run_one_after_another(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(model_registry, "_makers", dict(model_registry._makers))
    module = ModuleType("documentation")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = re.findall(r"```python (?:torch|flower)\n(.*?)```", (DOCS / f"{name}.md").read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), module.__dict__)


def test_every_page_with_blocks_is_tried():
    pages = {page.stem for page in DOCS.glob("*.md") if "```python torch\n" in page.read_text()}
    assert pages == set(PAGES)
