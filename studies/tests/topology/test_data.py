"""Which maps are there without any file?"""

from unalike.data.sources.files import data_folder
from unalike_studies.topology.data import published_maps


def test_without_files_there_are_two_maps_of_cities(tmp_path, monkeypatch):
    monkeypatch.delenv("UNALIKE_DATA", raising=False)
    with data_folder(tmp_path):
        assert published_maps() == {"gaia": "gaia:cities", "aws-na": "aws-na:misplaced"}
