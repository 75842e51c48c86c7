"""What can a received experiment file or run folder read and write?  (Attacks by files of somebody else.)"""

import csv
import sys
from pathlib import Path

import pytest

from unalike.data.tables import sql as queries
from unalike.errors import ConfigError, DataError
from unalike.experiments.comparison_file import ComparisonFile, write_asked
from unalike.experiments.config import make_experiment, read_experiment
from unalike.runs.configuration import write_config
from unalike.runs.sealed_files import seal_again

ROWS = [{"site": "ab"[i % 2], "age": 30 + i, "ill": "yn"[i // 10 % 2]} for i in range(40)]
TABLE = ("--client-column", "site", "--label", "ill", "--model", "linear", "--rounds", "1", "--quiet")


def write(path, rows=ROWS):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def experiment(path, **settings):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    path.write_text(text)
    return path


@pytest.fixture
def secret(unalike):
    """A table that is not the received file's business."""
    return write("private/secret.csv")


@pytest.mark.parametrize("command", ["run", "compare", "tune"])
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("data", "sql:SELECT content AS y, 1 AS site FROM read_text('/etc/passwd')"),
        ("data", "private/secret.csv"),
        ("data", "received/../private/secret.csv"),
        ("data", "folder:private"),
        ("data", "private"),
        ("prepare", "/etc/passwd"),
        ("importance", "/etc/passwd"),
        ("groups", "private/secret.csv"),
        ("availability", "trace:/etc/passwd"),
        ("hardware", "trace:private/secret.csv"),
        ("stream", "trace:/etc/passwd"),
        ("underlay", "private/secret.csv"),
        ("track", "jsonl:private/secret.csv"),
        ("track", "jsonl,tensorboard:private"),
    ],
)
def test_a_received_file_names_nothing_outside(unalike, secret, command, setting, value):
    before = secret.read_bytes()
    file = experiment("received/theirs.toml", **{setting: value})
    answer = unalike(command, file, *(["--algorithms", "fedavg"] if command != "run" else []))
    assert answer.code == 2
    assert f"{setting} = " in answer.sentence
    assert "--trust-file" in answer.sentence
    assert secret.read_bytes() == before
    assert not Path("runs").exists()


def test_join_sends_nothing_that_a_received_file_names(unalike, secret):
    pytest.importorskip("flwr")
    file = experiment("received/theirs.toml", data="sql:SELECT * FROM read_text('/etc/passwd')")
    answer = unalike("join", file, "--client", "c0")
    assert answer.code == 2
    assert "which is a query" in answer.sentence


def test_a_link_leads_out_as_a_path_does(unalike, secret):
    Path("received/clinics").mkdir(parents=True)
    Path("received/clinics/a.csv").symlink_to(secret.resolve())
    Path("received/b.csv").symlink_to(secret.resolve())
    for name in ("received/clinics", "received/b.csv"):
        file = experiment("received/theirs.toml", data=name)
        assert "a path outside its folder" in unalike("run", file, *TABLE).sentence


def test_what_the_user_says_counts(unalike, secret):
    file = experiment("received/theirs.toml", data="private/secret.csv", track="jsonl:log.jsonl")
    assert unalike("run", file, *TABLE, "--trust-file", "--out", "trusted").code == 0
    assert Path("log.jsonl").exists()
    answer = unalike("run", file, *TABLE, "--data", secret, "--track", "jsonl:other.jsonl", "--out", "named")
    assert answer.code == 0, answer
    assert Path("other.jsonl").exists()


def test_files_below_the_experiment_and_names_are_free(unalike):
    write("study/rows.csv")
    file = experiment("study/own.toml", data="study/rows.csv", track="jsonl")
    assert unalike("run", file, *TABLE, "--out", "run").code == 0
    Path("digits").mkdir()  # a folder that is called like a data set is not the data set
    experiment("study/plain.toml", data="digits")
    assert read_experiment("study/plain.toml").data == "digits"


def test_the_configuration_of_an_own_run_may_be_run_again(unalike, secret):
    assert unalike("run", "--data", secret, *TABLE, "--out", "run").code == 0
    assert unalike("run", "run/config.toml", "--out", "again", "--quiet").code == 0
    config = Path("run/config.toml")
    config.write_text(config.read_text().replace("seed = 0", "seed = 1"))
    assert "--trust-file" in unalike("run", "run/config.toml", "--out", "third").sentence


@pytest.fixture
def received(unalike, secret, monkeypatch, tmp_path):
    """A run folder of kNN-Per, which predicts from its clients' rows, made by somebody else."""
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody"))
        words = ("--data", secret, *TABLE, "--algorithm", "knnper", "--out", "theirs/run")
        answer = unalike("run", *words)
        assert answer.code == 0, answer
        config = Path("theirs/run/config.toml")
        config.write_text(config.read_text().replace(str(secret), "/etc/passwd.csv"))
        seal_again(Path("theirs/run"))
    return Path("theirs/run")


def test_a_received_folder_opens_nothing_that_it_names(unalike, received, secret):
    opened, watching = [], ["open"]  # a hook cannot be taken away, so that it is told when to rest
    sys.addaudithook(lambda event, facts: opened.append(str(facts[0])) if event in watching else None)
    before = secret.read_bytes()
    answer = unalike("predict", received, secret, "--client", "a")
    assert answer.code == 2
    assert "data = '/etc/passwd.csv', which is a path outside" in answer.sentence
    assert unalike("resume", received).code == 2
    assert unalike("audit", received).code == 2
    assert unalike("forget", received, "--client", "a").code == 2
    watching.clear()
    assert str(received / "config.toml") in opened
    assert not [path for path in opened if "passwd" in path]
    assert secret.read_bytes() == before


def test_a_received_folder_can_be_reported_without_its_rows(unalike, received):
    answer = unalike("report", received)
    assert answer.code == 0, answer
    assert "sealed by another key" in answer.sentence


def test_resuming_a_received_folder_overwrites_nothing(unalike, tiny, secret, monkeypatch, tmp_path):
    before = secret.read_bytes()
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(Path("somebody").resolve()))
        folder = tiny("--checkpoint-every", "2")
        config = folder / "config.toml"
        config.write_text("track = 'jsonl:private/secret.csv'\n" + config.read_text())
        seal_again(folder)
    assert unalike("resume", folder, "--rounds", "6").code == 2
    assert secret.read_bytes() == before
    shown = unalike("runs", "seal", folder, "--json").json
    assert shown["outside"] == {"track": "jsonl:private/secret.csv"}


QUERIES = [
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('private/key')",
    "SELECT * FROM read_csv('private/key')",
    "SELECT * FROM glob('/**')",
    "SELECT * FROM 'private/*.csv'",
    "SELECT * FROM read_csv('pri' || 'vate/secret.csv')",
    "SELECT * FROM read_parquet('https://example.org/a.parquet')",
    "SELECT * FROM sqlite_scan('a.db', 't')",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "ATTACH 'new.db'",
    "COPY (SELECT 1) TO 'new.csv'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA enable_profiling",
    "EXPORT DATABASE 'new'",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_reads_only_the_tables_that_it_names(secret, query):
    pytest.importorskip("duckdb")
    Path("private/key").write_text("a,b\n1,2\n")
    before = sorted(map(str, Path().rglob("*")))
    with pytest.raises(DataError):
        queries.read_sql(query)
    assert sorted(map(str, Path().rglob("*"))) == before


def test_the_lock_of_the_connection_holds_without_the_check_of_statements(secret, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(queries, "_check_query", lambda library, query: None)
    for query in QUERIES:
        if query.startswith("PRAGMA"):  # harmless: it profiles to the terminal
            continue
        with pytest.raises(DataError):
            queries.read_sql(query)


def test_tables_are_read_by_their_names(secret):
    pytest.importorskip("duckdb")
    for named in (f"'{secret}'", f'"{secret}"', f"read_csv('{secret.resolve()}', all_varchar = true)"):
        assert len(queries.read_sql(f"SELECT * FROM {named}")["age"]) == 40


def test_a_query_without_an_end_is_stopped(unalike, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(queries, "SECONDS", 0.2)
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n % 7 FROM t) SELECT count(*) AS c FROM t"
    with pytest.raises(DataError, match="takes more than"):
        queries.read_sql(endless)


def test_a_query_that_needs_too_much_memory_is_stopped(unalike, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(queries, "free_memory", lambda: 0)
    with pytest.raises(DataError, match="cannot be answered"):
        queries.read_sql("SELECT list(a.range) AS x FROM range(300000000) AS a")


def test_what_a_search_leaves_ready_to_run_is_the_users_own_until_it_is_edited(secret):
    chosen = make_experiment({"data": str(secret.resolve())})
    Path("out").mkdir()
    write_asked(Path("out"), ComparisonFile(algorithms=("fedavg",), experiment=chosen))
    write_config(Path("out/fedavg.toml"), chosen.model_dump())
    assert read_experiment("out/fedavg.toml") == chosen
    with Path("out/fedavg.toml").open("a") as file:
        file.write("# edited\n")
    with pytest.raises(ConfigError, match="--trust-file"):
        read_experiment("out/fedavg.toml")
    assert read_experiment("out/fedavg.toml", trust_file=True) == chosen
