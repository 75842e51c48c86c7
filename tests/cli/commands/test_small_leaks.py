"""What do a careless user, or whoever opens the files of one, learn of single rows?"""

import csv
import json
import stat
from pathlib import Path

import pytest

NAMES = [f"Anna Secret{i:02}" for i in range(60)]
NOTES = [f"fell off ladder {i}, wife called" for i in range(60)]
EVIL = "=cmd|' /C calc'!A0"
TINY = ("--model", "linear", "--rounds", "2")


@pytest.fixture
def patients(tmp_path):
    """A table of 60 patients with names and notes, of two hospitals."""
    with (tmp_path / "patients.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", "name", "note", "age", "sex", "ill"])
        for i, (name, note) in enumerate(zip(NAMES, NOTES, strict=True)):
            writer.writerow(
                ["n" if i % 2 else "s", name, note, 30 + i, "fm"[i % 3 == 0], [EVIL, "well"][i % 4 < 2]]
            )
    return ("--data", "patients.csv", "--label", "ill", "--client-column", "site")


def files_of(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def check_private(folder):
    for path in [Path(folder), *Path(folder).rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))


def check_nothing_of_rows(folder, needles=("Secret", "ladder")):
    for path in files_of(folder):
        content = path.read_bytes()
        assert not any(word.encode() in content for word in needles), path


@pytest.mark.usefixtures("reports")
def test_names_and_notes_reach_no_file_of_any_command(unalike, patients):
    answer = unalike("inspect", "patients.csv", *patients[2:], "--picture", "who.png")
    assert "dropped text columns" in " ".join(answer.out.split())
    answer = unalike(*("run", *patients, *TINY, "--unlearning", "full", "--out", "run", "--json"))
    assert answer.code == 0
    kinds = [event["column"] for event in _events("run") if event["kind"] == "column dropped"]
    assert kinds == ["name", "note"]
    assert unalike("predict", "run", "patients.csv", "--out", "out/p.csv").code == 0
    assert unalike("export", "run", "--format", "safetensors", "--out", "out/m.safetensors").code == 0
    assert unalike("forget", "run", "--client", "n", "--rounds", "1").code == 0
    several = ("--seeds", "1", "--out", "both")
    assert unalike("compare", *patients, *TINY, "--algorithms", "fedavg", *several).code == 0
    for folder in ("run", "out", "both"):
        check_nothing_of_rows(folder)
        check_private(folder)


def test_a_user_who_keeps_names_is_told_where_they_go(unalike, patients):
    answer = unalike("run", *patients, *TINY, "--keep-columns", "name", "--out", "run")
    assert answer.code == 0
    assert "dropped text columns" in answer.sentence  # the notes
    assert "Secret11" in Path("run/clients.json").read_text()


def test_cells_that_a_spreadsheet_would_run_are_escaped(unalike, patients):
    unalike("run", *patients, *TINY, "--out", "run")
    unalike("predict", "run", "patients.csv", "--probabilities", "--out", "p.csv")
    with Path("p.csv").open(newline="") as file:
        head, *rows = list(csv.reader(file))
    assert {row[0] for row in rows} <= {f"'{EVIL}", "well"}
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in head)


REJECTED = ("--data", "digits", "--samples", "120", "--clients", "3", "--model", "linear", "--rounds", "3")


@pytest.mark.usefixtures("reports")
def test_a_run_of_which_all_uploads_were_rejected_is_no_row_like_others(unalike):
    answer = unalike(
        *("compare", *REJECTED, "--algorithms", "fedavg", "--vary", "learning_rate=0.1,1e39,0.01"),
        *("--seeds", "2", "--out", "c", "--quiet"),
    )
    assert answer.code == 0
    assert "not trained" in answer.out
    assert "nothing was trained" in " ".join(answer.out.split())
    document = json.loads(Path("c/comparison.json").read_text(), parse_constant=pytest.fail)
    rows = {row["method"]: row for row in document["rows"]}
    (name,) = [method for method in rows if "1e" in method]
    assert rows[name]["untrained"] == 2
    assert rows[name]["test_accuracy"] == "NaN"
    assert rows[name]["p_t"] == "NaN"
    assert name not in (document["best"], document["best_mean"])
    assert any("nothing was trained" in note for note in document["notes"])
    for file in ("comparison.md", "comparison.tex", "report.html"):
        assert "nothing was trained" in Path("c", file).read_text(), file
        assert "not trained" in Path("c", file).read_text(), file
    with Path("c/comparison.csv").open(newline="") as file:
        table = {row["method"]: row for row in csv.DictReader(file)}
    assert (table[name]["untrained"], table[name]["test_accuracy"]) == ("2", "")


def test_json_says_nan_as_such_with_an_event(unalike):
    answer = unalike("run", *REJECTED, "--learning-rate", "1e39", "--out", "run", "--json")
    document = json.loads(answer.out, parse_constant=pytest.fail)
    assert document["train_loss"] == "NaN"
    assert any("nothing was trained" in sentence for sentence in document["warnings"])
    events = {event["kind"]: event for event in _events("run")}
    assert events["nothing trained"]["rejected"] == 9
    assert events["not finite"]["metric"] == "train_loss"
    again = unalike("resume", "run", "--json").json
    assert again == document
    check_private("run")


@pytest.mark.parametrize(
    ("work", "exposed"),
    [
        (("--batch-size", "1", "--steps", "1"), True),
        (("--batch-size", "2", "--steps", "1"), False),
        (("--batch-size", "1", "--steps", "2"), False),
    ],
)
def test_uploads_of_a_single_row_are_warned_of(unalike, work, exposed):
    answer = unalike("run", *REJECTED, *work, "--out", "run", "--quiet")
    assert answer.code == 0
    assert ("computes the row exactly" in answer.sentence) is exposed
    assert ("uploads of single rows" in [event["kind"] for event in _events("run")]) is exposed


def _events(folder):
    from unalike.runs import RunFolder

    with RunFolder.open(folder, read_only=True) as opened:
        return opened.record.events()
