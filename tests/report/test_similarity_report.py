"""Is everything drawn that can be, and nothing that cannot, for few, equal and many clients?"""

import re

import numpy as np
import pytest

from unalike.advice import advise_heterogeneity
from unalike.advice.cohort_similarity import CohortSimilarity
from unalike.data import Federation, load
from unalike.data.similarity import measure_similarity
from unalike.data.similarity.graph import fiedler_order
from unalike.report.similarity_plots import (
    cohort_figure,
    similarity_figures,
    similarity_overview,
    similarity_panels,
)
from unalike.report.similarity_report import report_similarity


@pytest.fixture(scope="module")
def federation():
    return load("digits", partition="imbalance:5,0", clients=12, test_fraction=0)


@pytest.fixture(scope="module")
def found(federation):
    return measure_similarity(federation)


def of_rows(x, owners):
    return Federation.from_owners(np.asarray(x, float), np.zeros(len(x), int), np.asarray(owners))


def test_all_figures_are_there(found, federation):
    assert set(similarity_figures(found, federation)) == {*similarity_panels(found), "Classes of clients"}
    assert len(similarity_panels(found)) == 6


def test_the_heat_map_is_ordered_by_the_fiedler_vector(found, federation):
    (image,) = similarity_figures(found, federation)["Similarity of pairs"].axes[0].images
    order = fiedler_order(found.spectrum)
    shown = np.ma.filled(image.get_array(), np.nan)
    expected = found.weights[np.ix_(order, order)]
    np.testing.assert_allclose(
        shown[~np.eye(len(order), dtype=bool)], expected[~np.eye(len(order), dtype=bool)]
    )


def test_bars_of_classes_add_up_to_rows(found, federation):
    axes = similarity_figures(found, federation)["Classes of clients"].axes[0]
    assert sum(bar.get_height() for bar in axes.patches) == federation.train.sizes.sum()


@pytest.mark.parametrize(
    ("x", "owners", "panels"),
    [
        (np.eye(3), [0, 0, 0], 1),
        (np.eye(3) + 0.1, [0, 1, 1], 3),
        (np.tile([[1.0, 2.0]], (3, 1)), [0, 1, 2], 3),
        (np.eye(4) + np.arange(4), [0, 1, 2, 3], 6),
    ],
    ids=["one client", "two clients", "identical clients", "four clients"],
)
def test_few_or_identical_clients_are_drawn_as_far_as_they_go(tmp_path, x, owners, panels):
    clients = of_rows(x, owners)
    found = measure_similarity(clients)
    assert len(similarity_panels(found)) == panels
    similarity_overview(found, clients).savefig(tmp_path / "all.png")
    words = re.sub(r"<[^>]*>", " ", report_similarity(tmp_path / "page.html", found, clients).read_text())
    assert not re.search(r"\bnan\b", words)


def test_rounds_are_drawn_where_cohorts_were(tmp_path, found, federation):
    cohorts = CohortSimilarity(found.homogeneity, np.array([1.0, np.nan, 2.0]), np.array([1.5, 1.5, 1.5]))
    lines = cohort_figure(cohorts).axes[0].lines
    assert [drawn.get_ydata().tolist() for drawn in lines[:2]] == [[1.0, 2.0], [1.5, 1.5, 1.5]]
    assert cohorts.as_dict()["by_round"] == [1.0, None, 2.0]
    advice = advise_heterogeneity(federation, found, cohorts=cohorts)
    assert "sees only a part" in report_similarity(tmp_path / "p.html", found, federation, advice).read_text()


def test_the_page_says_verdict_measures_and_warnings(tmp_path, found, federation):
    advice = advise_heterogeneity(federation, found)
    page = report_similarity(tmp_path / "page.html", found, federation, advice).read_text()
    for words in ("homogeneity", "Use fedem", "mean row", "Spectral layout", "labels"):
        assert words in page
