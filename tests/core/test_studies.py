"""Is the package of studies found without importing it, and is it one sentence where it is not installed?"""

import json
from importlib.metadata import EntryPoint

import pytest

from unalike.core import studies
from unalike.core.catalog import explain
from unalike.errors import ConfigError


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr(studies, "PACKAGE", "no_such_package")
    monkeypatch.setattr(studies.importlib.metadata, "entry_points", lambda group: [])


def test_without_studies_nothing_is_listed_and_a_sentence_says_how_to_install_them(nothing_installed):
    assert studies.find_studies() is None
    assert studies.study_names() == {}
    with pytest.raises(ConfigError, match=r"pip install unalike-studies, or with pip install \./studies"):
        studies.import_studies("command")


@pytest.mark.parametrize("words", [("reproduce",), ("reproduce", "foundation"), ("list", "studies")])
def test_commands_say_how_to_install_studies(nothing_installed, monkeypatch, capsys, words):
    from unalike.cli import main

    monkeypatch.setattr("sys.argv", ["unalike", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "install it with pip install unalike-studies" in " ".join(capsys.readouterr().err.split())


def test_an_entry_point_says_where_studies_are(nothing_installed, monkeypatch, tmp_path):
    package = tmp_path / "somebodys_studies"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('studies are not imported to be listed')")
    listed = {"studies": {"names": {"one": {"object": "somebodys_studies:one", "about": "The first."}}}}
    (package / "names.json").write_text(json.dumps(listed))
    monkeypatch.syspath_prepend(tmp_path)
    found = [EntryPoint("mine", "somebodys_studies", studies.GROUP)]
    monkeypatch.setattr(studies.importlib.metadata, "entry_points", lambda group: found)
    assert studies.find_studies() == package
    assert explain("studies")["one"] == "The first."
