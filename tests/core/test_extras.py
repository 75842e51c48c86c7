"""A missing optional library is one sentence that says what needs it and how to install it."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from unalike.core.extras import LIBRARIES, import_extra
from unalike.deploy.transport.flower import check_cryptography, check_flower
from unalike.engine.ray import session
from unalike.errors import DataError, UnalikeError
from unalike.memorization.neighbors import search
from unalike.models import from_equinox

ROOT = Path(__file__).parents[2]


def read_a_table(folder):
    from unalike.data.files.parquet_tables import read_parquet

    (folder / "anna.parquet").write_bytes(b"PAR1")
    read_parquet(folder / "anna.parquet", ["a", "b"], 1)


NEEDED = {
    "ray": ("ray", lambda folder: session.library()),
    "flwr": ("flower", lambda folder: check_flower()),
    "cryptography": ("flower", lambda folder: check_cryptography()),
    "faiss": ("faiss", lambda folder: search(np.zeros((3, 2)), np.zeros((1, 2)), 1, "faiss")),
    "pyarrow": ("parquet", read_a_table),
    "equinox": ("equinox", lambda folder: from_equinox(lambda key: None)),
}


def hide(monkeypatch, module):
    """As if it were not installed."""
    for name in [module, *(name for name in sys.modules if name.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("module", NEEDED)
def test_a_missing_library_is_one_sentence_that_says_what_to_install(module, monkeypatch, tmp_path):
    extra, use = NEEDED[module]
    hide(monkeypatch, module)
    with pytest.raises(UnalikeError) as refused:
        use(tmp_path)
    needs, install = f"needs {LIBRARIES[extra]}, which is not installed", f"pip install '.[{extra}]'"
    assert needs in str(refused.value)
    assert install in str(refused.value)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [("serve", "--clients", "2"), ("join", "--clients", "2", "--client", "0"), ("certs", "--nodes", "ann")],
)
def test_commands_without_flower_end_in_that_sentence(command, monkeypatch, tmp_path, capsys):
    from unalike.cli import main

    hide(monkeypatch, "flwr")
    hide(monkeypatch, "cryptography")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["unalike", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "pip install '.[flower]'" in " ".join(capsys.readouterr().err.split())


def test_a_library_that_is_there_but_broken_says_why(monkeypatch, tmp_path):
    (tmp_path / "broken.py").write_text("import a_part_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DataError, match=r"cannot be imported \(No module named 'a_part_that_is_missing'\)"):
        import_extra("broken", "parquet", "this", DataError)


def test_every_extra_has_a_name_that_people_know():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(LIBRARIES) == set(extras) - {"all", "dev"}
