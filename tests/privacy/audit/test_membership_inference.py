"""Do attacks find members where models have learned them, and nobody where they have not?"""

import numpy as np
import pytest
from scipy.stats import norm

from unalike.errors import ConfigError
from unalike.privacy.audit.attack_sets import balance
from unalike.privacy.audit.distribution_shift import domain_control
from unalike.privacy.audit.leakage import measure_leakage
from unalike.privacy.audit.likelihood_ratio import lira, lira_offline, rmia
from unalike.privacy.audit.membership_inference import (
    ATTACKS,
    Evidence,
    Verdict,
    run_attacks,
    strongest,
)
from unalike.privacy.audit.report_card import ReportCard, summarize
from unalike.privacy.audit.signals import class_signals, value_signals
from unalike.privacy.audit.statistics import clopper_pearson
from unalike.privacy.audit.thresholds import best_threshold

ROWS, CLASSES = 1200, 5


def world(memorized, seed=0, models=16):
    """Outputs of models that give a row's label `memorized` more logit when they were trained on it, and
    rows that are easy or hard for all models alike."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, ROWS)
    hardness = 2 * rng.normal(size=ROWS)

    def signals(inside):
        logits = 0.5 * rng.normal(size=(ROWS, CLASSES))
        logits[np.arange(ROWS), labels] += hardness + memorized * inside
        return class_signals(logits, labels)

    member = np.arange(ROWS) < ROWS // 2
    inside = rng.random((models, ROWS)) < 0.5
    references = tuple(signals(one) for one in inside)
    return Evidence(signals(member), references, inside, labels, np.flatnonzero(~member)), member


@pytest.fixture(scope="module")
def leaky():
    evidence, member = world(2.0)
    return run_attacks(evidence), balance(member, {"class": evidence.labels}), evidence


def test_every_attack_finds_members_of_a_model_that_memorizes(leaky):
    verdicts, (rows, member), _ = leaky
    assert tuple(one.attack for one in verdicts) == ATTACKS
    for one in verdicts:
        assert one.accuracy(rows, member).value > 0.55, one.attack


def test_comparing_with_other_models_is_stronger_where_rows_differ_in_hardness(leaky):
    verdicts, (rows, member), _ = leaky
    auc = {one.attack: one.auc(rows, member) for one in verdicts}
    assert min(auc["lira"], auc["lira offline"], auc["rmia"]) > auc["loss"] + 0.1
    assert strongest(verdicts, rows, member).attack in ("lira", "lira offline", "rmia")
    tpr = {one.attack: one.tpr(rows, member, 0.01).value for one in verdicts}
    assert tpr["lira"] > tpr["loss"] + 0.1


def test_no_attack_finds_members_of_a_model_that_does_not_memorize():
    evidence, member = world(0.0)
    chosen = balance(member, {"class": evidence.labels})
    verdicts = run_attacks(evidence)
    found = measure_leakage("training", verdicts, chosen, np.zeros(ROWS, int), ["a"], None)
    assert not found.leaks
    assert found.epsilon.epsilon == 0
    assert all(0.42 < one.accuracy.value < 0.58 for one in found.attacks)


def test_the_gap_attack_is_half_the_gap_above_guessing(leaky):
    verdicts, (rows, member), evidence = leaky
    correct = evidence.target.correct[rows]
    expected = 0.5 + (correct[member].mean() - correct[~member].mean()) / 2
    assert verdicts[0].accuracy(rows, member).value == pytest.approx(expected)


def test_the_threshold_is_the_best_of_all():
    rng = np.random.default_rng(3)
    member = rng.random(60) < 0.3
    scores = np.round(rng.normal(size=60) + member, 1)

    def rate(line):
        guess = scores >= line
        return guess[member].mean() + (~guess)[~member].mean()

    assert rate(best_threshold(scores, member)) == max(rate(line) for line in [*scores, np.inf])


def test_lira_is_the_ratio_of_two_normal_densities():
    rng = np.random.default_rng(4)
    scores, inside = rng.normal(size=(80, 3)), rng.random((80, 3)) < 0.5
    target = rng.normal(size=3)
    for row in range(3):
        kinds = [scores[inside[:, row], row], scores[~inside[:, row], row]]
        own, other = (norm.logpdf(target[row], k.mean(), k.std(ddof=1)) for k in kinds)
        assert lira(target, scores, inside)[row] == pytest.approx(own - other)
        expected = (target[row] - kinds[1].mean()) / kinds[1].std(ddof=1)
        assert lira_offline(target, scores, inside)[row] == pytest.approx(expected)


def test_rmia_counts_whom_a_row_outdoes():
    rng = np.random.default_rng(5)
    target, references = rng.random(20), rng.random((6, 20))
    others = np.arange(10, 20)
    ratio = target / references.mean(0)
    expected = [np.mean([ratio[x] >= 1.5 * ratio[z] for z in others]) for x in range(20)]
    np.testing.assert_allclose(rmia(target, references, others, 1.5), expected)


def test_too_few_reference_models_are_refused():
    evidence, _ = world(1.0, models=3)
    with pytest.raises(ConfigError, match="at least 4 reference models"):
        run_attacks(evidence)


def test_a_regression_is_attacked_by_its_losses():
    rng = np.random.default_rng(6)
    member, inside = np.arange(400) < 200, rng.random((8, 400)) < 0.5
    references = tuple(value_signals(rng.exponential(np.where(one, 0.2, 1.0))) for one in inside)
    target = value_signals(rng.exponential(np.where(member, 0.2, 1.0)))
    verdicts = run_attacks(Evidence(target, references, inside, None, np.arange(200, 400)))
    assert [one.attack for one in verdicts] == ["loss", "shadow", "lira", "lira offline", "rmia"]
    assert verdicts[0].accuracy(np.arange(400), member).value > 0.65


def test_clients_and_groups_are_judged_by_themselves_and_who_leaks_is_named():
    member, owners = np.arange(ROWS) < ROWS // 2, np.arange(ROWS) % 4
    guess = np.where(owners == 2, member, np.random.default_rng(0).random(ROWS) < 0.5)
    verdict = Verdict("made up", guess.astype(float), guess)
    chosen = balance(member, {"client": owners})
    found = measure_leakage("training", [verdict], chosen, owners, list("abcd"), ["x", "x", "y", "x"])
    assert found.clients[0].name == "c"
    assert found.clients[0].accuracy.value == 1.0
    assert [part.name for part in found.groups] == ["y", "x"]
    assert "client c leaks most" in summarize(ReportCard("accuracy", clopper_pearson(9, 10), found))


def test_the_control_sees_a_shift_and_only_a_shift():
    rng = np.random.default_rng(7)
    member, y = np.arange(600) < 300, rng.integers(0, 3, 600)
    alike = rng.normal(size=(600, 5))
    assert not domain_control(alike, y, member).shifted
    assert domain_control(alike + member[:, None], y, member).shifted
    assert domain_control(alike[:8], y[:8], np.arange(8) < 4) is None
