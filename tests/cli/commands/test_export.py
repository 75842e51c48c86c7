"""Does `unalike export` write a file and say so?"""

from pathlib import Path


def test_the_file_is_beside_the_run_or_where_it_is_asked_for(unalike, tiny):
    folder = tiny("--model", "linear")
    answer = unalike("export", folder, "--json")
    assert answer.code == 0, answer
    assert Path(answer.json["file"]).name == "run.safetensors"
    assert Path(answer.json["file"]).exists()
    shown = unalike("export", folder, "--client", "0", "--out", "mine.safetensors")
    assert "mine.safetensors" in shown.out
    assert Path("mine.safetensors").read_bytes() == Path(answer.json["file"]).read_bytes()


def test_mistakes_are_one_sentence(unalike, tiny):
    assert "there is no run folder" in unalike("export", "nowhere").sentence
    answer = unalike("export", tiny(), "--client", "nobody")
    assert (answer.code, "unknown client 'nobody'" in answer.sentence) == (2, True)
