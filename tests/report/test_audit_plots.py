"""Do the figures of an audit show its numbers?"""

import numpy as np
import pytest

from unalike.privacy.audit.attack_sets import balance
from unalike.privacy.audit.leakage import measure_leakage
from unalike.privacy.audit.membership_inference import Verdict
from unalike.privacy.audit.report_card import ReportCard
from unalike.privacy.audit.statistics import clopper_pearson
from unalike.report.audit_plots import leakage_by_client, roc_plot
from unalike.report.audit_report import report_audit


@pytest.fixture
def leakage():
    rng = np.random.default_rng(0)
    member, owners = np.arange(400) < 200, np.arange(400) % 40
    scores = rng.normal(size=400) + member
    verdicts = [Verdict("loss", scores, scores > 0.5), Verdict("gap", 1.0 * member, rng.random(400) < 0.5)]
    names = [f"<client {i}>" for i in range(40)]
    return measure_leakage("training", verdicts, balance(member, {}), owners, names, ["a", "b"] * 20)


def test_curves_are_on_logarithmic_axes_with_the_strongest_attack_last(leakage):
    (axes,) = roc_plot(leakage).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    false, true = leakage.best.roc
    np.testing.assert_allclose(axes.lines[1].get_xdata(), np.maximum(false, 1 / 200))
    np.testing.assert_allclose(axes.lines[1].get_ydata(), np.maximum(true, 1 / 200))


def test_the_clients_that_leak_most_are_on_top(leakage):
    (axes,) = leakage_by_client(leakage).axes
    values = axes.lines[0].get_xdata()
    assert len(values) == 30
    assert (np.diff(values) <= 0).all()
    assert "10 more" in axes.get_title(loc="left")


def test_the_page_has_all_tables_and_escapes_names(leakage, tmp_path):
    card = ReportCard(
        "accuracy", clopper_pearson(9, 10), leakage, leakage, {"epsilon": 3.0}, {}, ("A note.",)
    )
    text = report_audit(card, tmp_path / "page.html").read_text()
    for words in (
        "Attacks on training rows",
        "leakage by groups",
        "epsilon at most",
        "A note.",
        "&lt;client",
    ):
        assert words in text
    assert "<client" not in text
