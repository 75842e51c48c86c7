"""Are gains over rivals those of their definition, and does the long study resume and say what is less?"""

import numpy as np
import pytest

from unalike.privacy.audit.regimes import EQUAL, PRIVATE, PUBLIC, SHIFTED
from unalike_studies.privacy import published
from unalike_studies.privacy.data import Sizes
from unalike_studies.privacy.regimes import EARLY, IDS, Contest, Setting, counted, frontier, gains
from unalike_studies.study import Effort, parts_of
from unalike_studies.trainings import Trainings

TINY = Sizes(60, 120, 3, 4)


def test_the_published_weights_are_those_of_the_authors_program():
    curves = published.candidates()
    assert [one.method.weight for one in curves["WERM"]] == [0.5, 0.7, 0.9, 0.97, 0.98, 1.0]
    for name in ("AdvReg", "AdvReg-RT", "AdvReg with the published attacker"):
        assert [one.method.lam for one in curves[name]] == [1, 2, 3, 6, 10, 20]
    strong = curves["AdvReg with the published attacker"][0].method
    assert (strong.attacker, strong.attacker_steps, strong.penalty) == ("vector", 20, "square")
    assert set(parts_of("privacy")) == set(IDS.values())


@pytest.mark.parametrize("regime", [PUBLIC, EQUAL, PRIVATE, SHIFTED])
def test_gains_are_those_of_a_search(regime):
    """By hand: among pairs of allowed settings that bracket a leakage, the line between the best below it and
    the next better one above it."""
    rng = np.random.default_rng(1)
    ours, theirs = ([Setting(*row) for row in rng.uniform([20, 50, 50], [80, 95, 60], (9, 3))] for _ in "ab")
    found, missed = gains(ours, theirs, regime)
    allowed = [[(counted(s, regime), s.utility) for s in side] for side in (ours, theirs)]
    own, other = ([pair for pair in side if pair[0] is not None] for side in allowed)
    best = lambda side, leak: max(u for level, u in side if level <= leak)  # noqa: E731
    expected, beyond = [], 0
    for leak, utility in sorted(other):
        if utility < best(other, leak):
            continue  # another of theirs is better and leaks no more
        if leak < min(own)[0]:
            beyond += 1
            continue
        below = max((pair for pair in own if pair[0] <= leak), key=lambda pair: pair[1])
        above = [pair for pair in own if pair[0] > leak and pair[1] > below[1]]
        step = min(above, default=None)
        line = below[1] if step is None else np.interp(leak, *zip(below, step, strict=True))
        expected.append(line - utility)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert missed == beyond


def test_stopping_early_is_no_rival_of_itself():
    shared, early = Setting(60, 70, 80), Setting(50, 70, 50)
    both = Contest([shared, early], {EARLY: [early], "MMD": [early]})
    assert both.against(EARLY) == [shared]
    assert both.against("MMD") == [shared, early]


def test_settings_of_others_that_leak_the_reference_set_are_not_allowed_where_it_is_private():
    settings = [Setting(60, 70, 80), Setting(50, 70, 51)]
    assert frontier(settings, PRIVATE) == [(70, 50)]
    assert frontier(settings, EQUAL) == [(70, 50), (80, 60)]
    assert frontier(settings, PUBLIC) == [(70, 60)]


def test_a_part_says_what_it_scales_down_and_trains_nothing_twice(tmp_path, monkeypatch):
    every = published.candidates()
    few = dict.fromkeys(every, every["WERM"][:1])  # one training serves all
    monkeypatch.setattr(published, "candidates", lambda: few)
    monkeypatch.setattr(published, "SIZES", TINY)
    monkeypatch.setattr(published, "MODELS", 4)
    file = tmp_path / "privacy.jsonl"
    effort = Effort(Trainings(file), runs=1, share=0.1)
    first = list(published.regime_part(PUBLIC, effort))
    assert all("for 19,732 of Purchase100; 1 run where 10 were published" in claim.note for claim in first)
    assert effort.trainings.finished == effort.trainings.expected == len(few)
    monkeypatch.setattr(published, "audit_run", pytest.fail)
    again = Effort(Trainings(file), runs=1, share=0.1)
    assert list(published.regime_part(PUBLIC, again)) == first
    assert {claim.id for claim in published.regime_part(PRIVATE, again)} == {"P6"}
