"""Do values that were not printed stay out of the published column, and is it said what is scaled down?"""

from importlib import import_module
from pathlib import Path

import pytest

from unalike.errors import ConfigError
from unalike_studies import run_published
from unalike_studies.availability import theory as availability
from unalike_studies.cross_silo import theory as cross_silo
from unalike_studies.knnper import rivals
from unalike_studies.streams import training as streams
from unalike_studies.study import _scaled_down, document_of, parts_of, study_registry
from unalike_studies.topology import tables

WITH_LONG_PARTS = tuple(sorted(filter(parts_of, study_registry)))
WITHOUT_DOCUMENT = ("engines", "foundation")
"""They check this package against itself."""
STUDIES = tuple(sorted({*study_registry} - {*WITH_LONG_PARTS, *WITHOUT_DOCUMENT}))
PACKAGES = {"async": "asynchrony"}


def texts_of(study):
    package = import_module(f"unalike_studies.{PACKAGES.get(study, study.replace('-', '_'))}")
    return "".join(file.read_text() for file in Path(package.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_without_a_long_part_says_what_it_scales_down(name):
    with pytest.raises(ConfigError) as error:
        run_published(name)
    assert f"What {name} scales down" in str(error.value)
    assert "same at any effort" not in str(error.value)


@pytest.mark.parametrize("name", [*STUDIES, *WITH_LONG_PARTS])
def test_what_is_scaled_down_are_claims_of_the_study(name):
    text = texts_of(name)
    assert [id for id in _scaled_down[name] if f'"{id}"' not in text] == []


@pytest.mark.parametrize("name", [*STUDIES, *WITH_LONG_PARTS, *WITHOUT_DOCUMENT])
def test_places_are_those_of_a_document(name):
    assert bool(document_of(name)) == (name not in WITHOUT_DOCUMENT) == ("place=" in texts_of(name))


def test_a_misprint_is_published_as_it_is_printed():
    claims = {claim.claim.partition(":")[0]: claim for claim in cross_silo.size_claims()}
    assert claims["tcga_like"].published == "311, 196, 206, 16, 51"
    assert "1,088" in claims["tcga_like"].derivation


def test_what_follows_from_printed_numbers_is_expected_and_not_published():
    chains = {claim.claim: claim for claim in availability.chain_claims(2_000)}
    for derived in (chains["their mean run"], *cross_silo.rounds_claims()):
        assert (derived.published, derived.place) == (None, "")
        assert derived.derivation
    assert chains["their correlation between rounds"].place == "section 2.2.6.1"
    ratios = [claim for claim in tables.ratio_claims({"gaia": "gaia:cities"}) if claim.derivation]
    assert [claim.derivation for claim in ratios] == ["391 / 118 of Table 2.5", "4444 / 1156 of Table 2.6"]
    assert all(claim.published is None for claim in ratios)


def test_numbers_of_another_data_set_say_so(monkeypatch):
    monkeypatch.setattr(
        streams, "evaluate_accuracies", lambda make, weights, rates, seeds: [50.0 for _ in seeds]
    )
    claims = list(streams.interior_claims(quick=True))
    assert [claim.published for claim in claims] == [6.2, 7.9]
    assert all("CIFAR-10" in claim.place for claim in claims)


def test_the_bound_has_a_derived_radius_and_published_words():
    claims = list(rivals.bound_claims())
    assert [bool(claim.place) for claim in claims] == [True, True, False]
    assert [claim.published is None for claim in claims] == [False, False, True]
