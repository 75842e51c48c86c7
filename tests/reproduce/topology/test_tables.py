"""Do the claims on topologies that need no file hold?"""

import pytest

from unalike.data.sources.files import data_folder
from unalike.reproduce.topology.tables import (
    TEN_STEPS,
    cell_claims,
    order_claims,
    published_maps,
    ratio_claims,
)
from unalike.reproduce.topology.theory import (
    example_claims,
    guarantee_claims,
    matching_claims,
    mixing_claims,
)


@pytest.fixture(autouse=True)
def _no_files(tmp_path, monkeypatch):
    monkeypatch.delenv("UNALIKE_DATA", raising=False)
    with data_folder(tmp_path):
        yield


def test_without_files_there_are_two_maps_of_cities():
    assert published_maps() == {"gaia": "gaia:cities", "aws-na": "aws-na:misplaced"}


def test_published_cells_come_out_from_coordinates_of_cities():
    claims = list(cell_claims(published_maps(), quick=True))
    assert len(claims) == 24
    assert [claim.claim for claim in claims if claim.hard and not claim.holds] == []


def test_orders_and_ratios_hold():
    maps = published_maps()
    for claim in (*order_claims(maps, quick=True), *ratio_claims(maps)):
        assert claim.holds, claim


def test_worked_examples_guarantees_weights_and_matchings_hold():
    for claim in (*example_claims(), *guarantee_claims(True), *mixing_claims(), *matching_claims(True)):
        assert claim.holds or not claim.hard, claim


def test_the_misprint_is_below_its_neighbour_with_fewer_steps():
    assert TEN_STEPS["geant"][0] < 736.0
