"""What does a person see?  (A short table, words instead of codes, and names as they are.)"""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unalike.cli import app
from unalike.privacy.accountant import gaussian_epsilon

from .conftest import TINY


def write_client(folder, name, rows=6):
    """A CSV file with two features and a label."""
    lines = ["height,width,label", *(f"{i},{i % 3},{i % 2}" for i in range(rows))]
    (folder / f"{name}.csv").write_text("\n".join(lines))


@pytest.fixture
def clients(tmp_path):
    """A folder with two clients' files."""
    folder = tmp_path / "clients"
    folder.mkdir()
    for name in ("ann", "bob"):
        write_client(folder, name)
    return folder


@pytest.mark.usefixtures("reports")
def test_a_run_ends_with_a_table_and_says_where_the_report_is(unalike, tmp_path):
    answer = unalike("run", *TINY, "--out", "run", "--quiet")
    assert answer.code == 0
    assert "fedavg after 4 rounds" in answer.out
    assert "test accuracy" in answer.out
    assert "run/report.html" in answer.out
    assert answer.err == ""
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {
        *("config.toml", "metrics.sqlite", "model.safetensors", "report.html", "checkpoints", "plots")
    }


def test_an_algorithm_is_called_as_it_was_asked_for(unalike):
    answer = unalike("run", *TINY, "--algorithm", "fedadam", "--out", "run", "--json")
    assert answer.json["algorithm"] == "fedadam"


def test_a_folder_of_files_trains(unalike, clients):
    answer = unalike("run", "--data", clients, "--model", "linear", "--rounds", 1, "--json")
    assert answer.code == 0
    assert answer.json["clients"] == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("height,width,label\n1,tall,0\n", "column 'width'"),
        ("height,width,label\n1,inf,0\n2,2,1\n", "infinite"),
        ("height,width,label\n1,2\n", "different numbers of columns"),
        ("height,label\n1,0\n2,1\n", "give every client the same columns"),
        ("", "header"),
    ],
)
def test_a_bad_client_file_is_named(unalike, clients, tmp_path, content, words):
    (clients / "clinic 7.csv").write_text(content)
    answer = unalike("run", "--data", clients, "--rounds", 1)
    assert answer.code == 2
    assert "clinic 7" in answer.sentence
    assert words in answer.sentence
    assert not (tmp_path / "runs").exists()


def test_clients_with_brackets_in_their_names_are_shown_as_they_are(unalike, clients):
    write_client(clients, "[bold]")
    write_client(clients, "[end]")
    answer = unalike("inspect", clients)
    assert answer.code == 0
    assert "[bold]" in answer.out
    assert "[end]" in answer.out


def test_a_folder_with_brackets_in_its_name_is_shown_as_it_is(unalike):
    answer = unalike("run", *TINY, "--out", "my [red] run", "--quiet")
    assert answer.code == 0
    assert "my [red] run/report.html" in answer.out


def test_a_picture_that_cannot_be_drawn_is_one_sentence(unalike):
    answer = unalike("inspect", "digits", "--clients", 3, "--picture", "/dev/null/partition.png")
    assert answer.code == 2
    assert "/dev/null/partition.png" in answer.sentence


@pytest.mark.parametrize(
    "data", ["breast_cancer", "diabetes", "digits", "gaussians", "mixture", "quadratic", "synthetic"]
)
def test_every_data_set_that_needs_no_download_can_be_looked_at(unalike, data):
    answer = unalike("inspect", data, "--clients", 6)
    assert answer.code == 0
    assert "6 clients" in answer.out
    assert "nan" not in answer.out.split()


def test_numbers_that_are_not_there_are_not_called_nan(unalike):
    """Clients with a single row have no test rows, so their accuracy is unknown."""
    answer = unalike("run", *TINY, "--samples", 5, "--rounds", 1, "--quiet", "--out", "run")
    assert answer.code == 0
    assert "nan" not in answer.out.split()


@pytest.mark.usefixtures("reports")
def test_a_person_sees_who_is_better_in_a_comparison(unalike):
    answer = unalike("compare", *TINY, "--algorithms", "fedavg,local", "--seeds", 2, "--rounds", 1, "--quiet")
    assert answer.code == 0
    assert "±" in answer.out
    assert "fedavg" in answer.out
    assert all(word in " ".join(answer.out.split()) for word in ("against", "p (t)", "report.html"))
    assert Path("runs/comparison/report.html").exists()


def test_the_version_is_the_packages():
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.exit_code == 0
    assert shown.stdout.strip() == version("unalike")


def test_a_second_comparison_takes_the_next_folder(unalike):
    for folder in ("runs/comparison", "runs/comparison-2"):
        words = ("--algorithms", "fedavg", "--seeds", 2, "--rounds", 1)
        answer = unalike("compare", *TINY, *words, "--quiet")
        assert answer.code == 0
        assert Path(folder, "fedavg-seed0", "config.toml").exists()
    assert "±: 95 % t intervals over 2 seeds" in answer.out


def test_what_set_takes_is_in_the_list_of_methods(unalike):
    shown = unalike("list", "algorithms").out
    assert all(word in shown for word in ("mu=0.1", "components=3", "lam=0.1"))


@pytest.mark.usefixtures("reports")
def test_metrics_that_are_asked_for_are_in_the_table_the_record_and_the_report(unalike, tmp_path):
    asked = "f1,accuracy,confusion,auc:50"
    answer = unalike("run", *TINY, "--metrics", asked, "--out", "run", "--quiet")
    assert answer.code == 0
    shown = " ".join(answer.out.split())
    assert all(f"test {name}" in shown for name in ("f1", "accuracy", "auc"))
    assert "clients f1 mean" in shown
    assert (tmp_path / "run/plots/confusion.png").exists()
    report = (tmp_path / "run/report.html").read_text()
    assert "Test F1" in report
    assert "Confusion" in report
    assert report.index("Test F1") < report.index("Test accuracy")
    assert f'metrics = "{asked}"' in (tmp_path / "run/config.toml").read_text()


@pytest.mark.parametrize(
    ("metrics", "words"),
    [("recall", "unknown metric 'recall'"), ("rmse", "rmse is for tasks that predict values")],
)
def test_a_metric_that_does_not_fit_is_one_sentence(unalike, tmp_path, metrics, words):
    answer = unalike("run", *TINY, "--metrics", f"accuracy,{metrics}", "--out", "run")
    assert answer.code == 2
    assert words in answer.sentence
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("reports")
def test_a_private_run_says_what_it_has_spent(tmp_path):
    """Clients that weigh the same pay the same: two rounds of noise 2 are one of noise 2 / sqrt(2)."""
    spent = gaussian_epsilon(2 / 2**0.5, 1e-5)
    if spent is None:
        pytest.skip("needs an accountant")
    words = "run --data digits --clients 4 --samples 80 --model linear --rounds 2 --importance equal --quiet"
    private = ["--aggregator", "central-dp:1,2", "--json", "--out", str(tmp_path / "run")]
    told = CliRunner().invoke(app, [*words.split(), *private])
    assert json.loads(told.stdout)["epsilon"] == pytest.approx(spent, rel=1e-6)
    assert "Privacy spent" in (tmp_path / "run" / "report.html").read_text()
