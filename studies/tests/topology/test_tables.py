"""Do the published cycle times that need no file come out again?"""

import pytest

from unalike.data.sources.files import data_folder
from unalike_studies.topology.data import published_maps
from unalike_studies.topology.tables import (
    TEN_STEPS,
    cell_claims,
    order_claims,
    ratio_claims,
)


@pytest.fixture(autouse=True)
def _no_files(tmp_path, monkeypatch):
    monkeypatch.delenv("UNALIKE_DATA", raising=False)
    with data_folder(tmp_path):
        yield


def test_published_cells_come_out_from_coordinates_of_cities():
    claims = list(cell_claims(published_maps(), quick=True))
    assert len(claims) == 24
    assert [claim.claim for claim in claims if claim.hard and not claim.holds] == []


def test_orders_and_ratios_hold():
    maps = published_maps()
    for claim in (*order_claims(maps, quick=True), *ratio_claims(maps)):
        assert claim.holds, claim


def test_the_misprint_is_below_its_neighbor_with_fewer_steps():
    assert TEN_STEPS["geant"][0] < 736.0
