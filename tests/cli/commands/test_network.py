"""Does `unalike network` follow the size of its task, and refuse before it works?"""

import pytest

PAIRS = "from,to,latency_ms,bandwidth_mbps\n" + "".join(
    f"s{i},s{j},{10 + 5 * abs(i - j)},{100 + i}\n" for i in range(3) for j in range(3) if i != j
)


def test_measured_pairs_are_compared_by_the_usual_designs_that_need_no_map(unalike, tmp_path, monkeypatch):
    monkeypatch.setattr("unalike.topology.overlays.search.USUAL", 0.3)  # a short search will do
    file = tmp_path / "pairs.csv"
    file.write_text(PAIRS)
    answer = unalike("network", "compare", "--underlay", str(file), "--rounds", "0", "--json")
    assert answer.code == 0
    assert [row["design"] for row in answer.json["rows"]] == [
        "star",
        "matcha",
        "mst",
        "delta-mbst",
        "ring",
        "search",
    ]
    refused = unalike("network", "compare", "--underlay", str(file), "--designs", "matcha+")
    assert refused.code == 2
    assert "needs a map" in refused.sentence


@pytest.mark.parametrize(
    ("out", "words"),
    [("no/such/overlay.csv", "there is no folder no/such"), (".", "is a folder; name a file in it")],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(unalike, monkeypatch, out, words):
    monkeypatch.setattr("unalike.topology.design", lambda *_: pytest.fail("worked before it refused"))
    answer = unalike("network", "design", "--out", out)
    assert answer.code == 2
    assert words in answer.sentence


@pytest.mark.parametrize(
    "options",
    [
        ("run", "--timing", "fedfix:1e300"),
        ("run", "--timing", "fedfix:0.5", "--hardware", "equal:1e300"),
        ("run", "--timing", "async", "--timeout", "5e8"),
        ("advise", "timing", "--hardware", "equal:1e300"),
    ],
)
def test_times_that_no_clock_can_count_are_refused(unalike, options):
    answer = unalike(*options)
    assert answer.code == 2
    assert "times must be at most 1e+08 units" in answer.sentence


def test_advice_for_too_many_clients_is_refused_before_their_times_are_made(unalike, monkeypatch):
    monkeypatch.setattr(
        "unalike.timing.hardware_registry.make", lambda *_, **__: pytest.fail("made three million")
    )
    answer = unalike("advise", "timing", "--clients", "3000000")
    assert answer.code == 2
    assert "at most 1,000 clients" in answer.sentence
