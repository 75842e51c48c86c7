"""Does `unalike predict` use what was trained, on rows as people have them?"""

import csv
from pathlib import Path

import pytest

ROWS = [
    {"site": "ab"[i % 2], "age": "" if i == 4 else 30 + i, "sex": "fm"[i // 2 % 2], "ill": "yn"[i // 10 % 2]}
    for i in range(40)
]


def write(path, rows, *, without=()):
    kept = [{name: value for name, value in row.items() if name not in without} for row in rows]
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, kept[0])
        writer.writeheader()
        writer.writerows(kept)


@pytest.fixture
def trained(unalike):
    write("all.csv", ROWS)
    words = ("--data", "all.csv", "--client-column", "site", "--label", "ill", "--model", "linear")
    answer = unalike("run", *words, "--rounds", "2", "--out", "run", "--algorithm", "ditto", "--quiet")
    assert answer.code == 0, answer
    return "run"


def test_rows_are_predicted_by_the_client_they_belong_to(unalike, trained):
    write("new.csv", ROWS[:6], without=("ill",))
    own = [unalike("predict", trained, "new.csv", "--client", name, "--json").json for name in "ab"]
    together = unalike("predict", trained, "new.csv", "--client-column", "site", "--json").json
    wanted = [own["ab".index(row["site"])]["predictions"]["prediction"][i] for i, row in enumerate(ROWS[:6])]
    assert together["predictions"]["prediction"] == wanted
    assert set(wanted) <= {"y", "n"}


def test_a_file_of_predictions_has_probabilities_where_asked(unalike, trained):
    answer = unalike("predict", trained, "all.csv", "--client", "a", "--probabilities", "--out", "p.csv")
    assert "accuracy" in answer.out
    assert "40 predictions are in p.csv" in " ".join(answer.out.split())
    with Path("p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["prediction", "probability of n", "probability of y"]
    for row in rows:
        chances = {name[-1]: float(value) for name, value in row.items() if name != "prediction"}
        assert abs(sum(chances.values()) - 1) < 1e-4
        assert row["prediction"] == max(chances, key=chances.get)
    assert "p.csv exists already" in unalike("predict", trained, "all.csv", "--out", "p.csv").sentence


def test_rows_without_a_known_target_and_with_strange_words_are_predicted_all_the_same(unalike, trained):
    write("new.csv", [{**row, "ill": "", "sex": "x"} for row in ROWS[:2]])
    found = unalike("predict", trained, "new.csv", "--client", "a", "--json").json
    assert len(found["predictions"]["prediction"]) == 2
    assert found["remarks"] == [
        "column 'sex': unknown in training: x (2 rows, taken as none of the known words)"
    ]
    newcomer = unalike("predict", trained, "new.csv", "--newcomer", "all.csv", "--json").json
    assert len(newcomer["predictions"]["prediction"]) == 2


def test_mistakes_are_one_sentence(unalike, trained):
    write("new.csv", ROWS[:2], without=("age",))
    for words, expected in (
        ((trained, "new.csv"), "say whose rows these are"),
        ((trained, "new.csv", "--client", "c"), "unknown client 'c'"),
        ((trained, "new.csv", "--client", "a"), "no column 'age'"),
        ((trained, "gone.csv", "--client", "a"), "there is no file 'gone.csv'"),
        (("nowhere", "all.csv"), "there is no run folder"),
        ((trained, "all.csv", "--client", "a", "--client-column", "site"), "leave out --client"),
        ((trained, "all.csv", "--client", "a", "--best"), "no best model"),
    ):
        answer = unalike("predict", *words)
        assert (answer.code, expected in answer.sentence) == (2, True), answer
