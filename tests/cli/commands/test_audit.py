"""Does `unalike audit` print a report card that machines and people can read?"""

from pathlib import Path


def test_the_card_is_json_and_a_page_is_written_beside_the_run(unalike, tiny):
    folder = tiny("--samples", "300", "--rounds", "20", "--test-fraction", "0.4")
    answer = unalike("audit", folder, "--references", "4", "--json")
    assert answer.code == 0, answer
    card = answer.json
    assert set(card["measured"]) == {"utility", "training_leakage", "reference_leakage"}
    assert card["measured"]["reference_leakage"] is None
    assert card["measured"]["training_leakage"]["attacks"][0]["tpr_at_fpr_0.001"] is None
    assert card["sentence"].startswith("Accuracy is")
    page = Path(card["page"]).read_text()
    assert Path(card["page"]).name == "run-audit.html"
    assert "Recognized training rows" in page
    assert "Measured, declared, combined" in page


def test_people_see_the_three_metrics_and_who_leaks_most(unalike, tiny):
    folder = tiny("--samples", "300", "--validation-fraction", "0.2", "--test-fraction", "0.4")
    shown = unalike("audit", folder, "--references", "4", "--page", "card.html", "--sensitivity", "0.5")
    assert shown.code == 0, shown
    text = " ".join(shown.out.split())
    for words in ("utility (accuracy)", "training leakage", "reference leakage", "who leaks most"):
        assert words in text
    assert "Declared: reference sensitivity 0.5" in text
    assert Path("card.html").exists()


def test_a_mistake_is_one_sentence(unalike, tiny):
    assert "there is no run folder" in unalike("audit", "nowhere").sentence
    folder = tiny("--samples", "200")
    answer = unalike("audit", folder, "--reference", "validation", "--references", "4")
    assert (answer.code, "reference set is empty" in answer.sentence) == (2, True)
    assert "delta must be" in unalike("audit", folder, "--delta", "2").sentence


def test_several_runs_are_compared_in_all_three_metrics(unalike, tiny):
    words = ("--samples", "300", "--test-fraction", "0.4")
    runs = [tiny(*words, "--rounds", rounds, out=f"run{rounds}") for rounds in ("1", "10")]
    shown = unalike("audit", *runs, "--references", "4")
    assert shown.code == 0, shown
    assert "dominated" in shown.out
    assert Path("run1-audit.html").exists()
    assert Path("run10-audit.html").exists()
    assert "leave it out" in unalike("audit", *runs, "--page", "one.html").sentence


def test_knobs_make_curves_with_a_sentence_and_a_page(unalike, tiny):
    folder = tiny("--samples", "200", "--test-fraction", "0.4", "--reference-sensitivity", "0.5")
    words = ("--vary", "rounds=1", "--vary", "werm.weight=1")
    answer = unalike("audit", folder, *words, "--references", "4", "--json")
    assert answer.code == 0, answer
    found = answer.json
    assert [curve["defense"] for curve in found["curves"]] == ["fedavg rounds", "werm weight"]
    sizes = [curve["settings"][0]["facts"]["reference_rows"] for curve in found["curves"]]
    assert sizes[0] == sizes[1] > 0
    assert found["curves"][0]["settings"][0]["declared"]["reference_sensitivity"] == 0.5
    assert "dominates" in found["sentences"][0]
    assert "All defenses" in Path(found["page"]).read_text()
    assert "not --defense" in unalike("audit", folder, *words, "--defense", "memguard:1").sentence


def test_regimes_of_reference_data_are_compared_in_the_same_command(unalike, tiny):
    folder = tiny("--samples", "200", "--test-fraction", "0.4", "--rounds", "10")
    words = ("--vary", "werm.weight=0.5,1", "--references", "4", "--regimes", "public,private,shifted:0.5")
    answer = unalike("audit", folder, *words, "--json")
    assert answer.code == 0, answer
    found = answer.json
    assert {line["regime"] for line in found["regimes"]} <= {"public", "private", "shifted"}
    assert found["regimes"][-1]["best"].startswith("werm weight")
    assert [sentence.split(":")[0] for sentence in found["sentences"][:3]] == ["public", "private", "shifted"]
    assert "Regimes of reference data" in Path(found["page"]).read_text()
    assert "say which with --vary" in unalike("audit", folder, "--regimes", "public").sentence
    assert "unknown regime 'secret'" in unalike("audit", folder, *words[:-1], "secret").sentence
