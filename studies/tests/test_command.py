"""Does `unalike reproduce` say which document it speaks of, and what it leaves out?"""

import pytest


@pytest.mark.parametrize(
    ("name", "left", "run"),
    [("async", "AS-14", "AS-16"), ("availability", "A8", "A15"), ("sampling", "CS-13", "CS-12")],
)
def test_a_study_at_the_published_effort_says_what_stays_scaled_down(unalike, monkeypatch, name, left, run):
    monkeypatch.setattr("unalike_studies.command.published_claims", lambda *how: [])
    answer = unalike("reproduce", name, "--full")
    assert f"Scaled down in {name}, also with --full: " in answer.err
    assert f"{left}: " in answer.err
    assert f"{run}: " not in answer.err
    assert "Published values stand in " in answer.out
