"""Can a received file lead out of its folder by another spelling?  (Attacks by paths, queries and trackers.)

Every setting that holds words is tried with every spelling of a path to a file that is not the received
file's business. Nothing may open, list or change it, whether the command refuses the setting or takes the
word for something else.
"""

import sys
from pathlib import Path

import pytest

from unalike.experiments.config import Experiment
from unalike.runs.sealed_files import seal_again

CANARY = "client,group,seconds\n0,a,1\n1,b,1\n"
SETTINGS = {"data": "digits", "samples": 60, "clients": 3, "rounds": 1, "model": "linear", "batch_size": 0}
BESIDE = {
    "stream_weights": {"stream": "constant:5"},
    "memory": {"stream": "constant:5"},
    "drift": {"stream": "constant:5"},
    "underlay": {"network": "ring"},
    "prepare": {"data": "received/rows.csv", "client_column": "group", "label": "seconds"},
    "dishonest": {"behavior": "free-rider:plain"},
    "staleness": {"timing": "async"},
    "ledger": {"unlearning": "full"},
}
"""What must be set beside a setting so that it is looked at."""
WORDS = [name for name, field in Experiment.model_fields.items() if "str" in str(field.annotation)]
"""All settings that hold words."""
READERS = (
    *("data", "prepare", "importance", "groups", "stream", "stream_weights", "availability", "hardware"),
    *("underlay", "network"),
)
"""Those whose words may be files; of them, all spellings are tried."""
PATHS = (
    *("private/canary.csv", "received/../private/canary.csv", "private%2Fcanary.csv", "private\\canary.csv"),
    *("~/canary.csv", "canary.csv", "digits,../private/canary.csv", "rows.csv,private/canary.csv"),
)
NAMES = ("", "trace:", " given: ", "Trace:", "x:1,")
QUERIES = (
    *("SQL:SELECT * FROM 'private/canary.csv'", " sql:SELECT * FROM 'private/canary.csv'"),
    *(
        "Sql: FROM 'private/canary.csv'",
        "sql:FROM 'private/canary.csv'",
        "folder: private",
        "PRIVATE/canary.csv",
    ),
)
TRACKERS = (
    *("JSONL:private/canary.csv", " jsonl : private/canary.csv", "jsonl,jsonl:canary.csv"),
    *(
        "jsonl:%63anary.csv",
        "jsonl:~/canary.csv",
        "jsonl:private\\canary.csv",
        "jsonl: canary.csv",
        "jsonl:1e3",
    ),
    *("mlflow:file:private", "wandb:private", "tensorboard:private", "TensorBoard:private", "jsonl:1e3"),
)
WATCHED, SEEN = ("open", "os.listdir", "os.scandir", "sqlite3.connect"), list[str]()
LOOKING = list[bool]()
sys.addaudithook(lambda event, facts: SEEN.append(str(facts[0])) if LOOKING and event in WATCHED else None)


def outside():
    """All files that are not the received file's business, and what is in them."""
    inside = (Path("received"), Path("out"))
    paths = [path for path in Path().rglob("*") if not any(path.is_relative_to(one) for one in inside)]
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(paths)}


@pytest.fixture
def canaries(unalike, monkeypatch):
    for place in ("private/canary.csv", "home/canary.csv", "canary.csv", "received/rows.csv"):
        Path(place).parent.mkdir(exist_ok=True)
        Path(place).write_text(CANARY)
    monkeypatch.setenv("HOME", str(Path("home").resolve()))
    monkeypatch.setenv("WANDB_MODE", "offline")


def attack(unalike, setting, word, command="run"):
    """What was touched that is outside, by a command on a file with one hostile setting."""
    values = {**SETTINGS, **BESIDE.get(setting, {}), setting: word}
    Path("received/theirs.toml").write_text("".join(f"{k} = {_toml(v)}\n" for k, v in values.items()))
    more = {"run": ("--out", "out", "--overwrite", "--quiet"), "join": ("--client", "c0", "--server", "x:1")}
    before = outside()
    SEEN.clear()
    LOOKING.append(True)
    answer = unalike(command, "received/theirs.toml", *more[command])
    LOOKING.clear()
    assert answer.code in (0, 2), (setting, word, answer)
    assert "Traceback" not in answer.err
    opened = [path for path in SEEN if "canary" in path or Path(path).name == "private"]
    changed = {path for path in {*before, *outside()} if before.get(path) != outside().get(path)}
    return opened, changed


def _toml(value):
    return str(value) if isinstance(value, int) else "'" + value + "'" if "'" not in value else f'"{value}"'


@pytest.mark.parametrize("setting", WORDS)
def test_no_setting_leads_out(unalike, canaries, setting):
    spellings = [name + path for path in PATHS for name in NAMES] if setting in READERS else PATHS[:2]
    for word in spellings:
        assert attack(unalike, setting, word) == ([], set()), word


@pytest.mark.parametrize("word", QUERIES)
def test_no_spelling_of_a_query_is_asked(unalike, canaries, word):
    assert attack(unalike, "data", word) == ([], set())


@pytest.mark.parametrize("word", TRACKERS)
def test_no_tracker_writes_outside(unalike, canaries, word):
    assert attack(unalike, "track", word) == ([], set())


@pytest.mark.parametrize(
    ("setting", "word"),
    [("data", word) for word in (*QUERIES, *PATHS)] + [("stream", "trace:private/canary.csv")],
)
def test_join_opens_nothing_that_a_received_file_names(unalike, canaries, setting, word):
    pytest.importorskip("flwr")
    assert attack(unalike, setting, word, "join") == ([], set())


@pytest.mark.parametrize("command", [("resume",), ("predict", "received/rows.csv"), ("audit",), ("report",)])
def test_a_received_folder_leads_out_by_no_setting(unalike, canaries, tiny, command, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody"))
        folder = tiny("--samples", "100", "--checkpoint-every", "2", out="received/run")
    plain = (folder / "config.toml").read_text()
    hostile = {"stream_weights": "given:canary.csv", "availability": "trace:private/canary.csv"}
    hostile |= {
        "importance": " canary.csv",
        "hardware": "trace: private/canary.csv",
        "track": "jsonl:canary.csv",
    }
    for name, word in {**hostile, "groups": "~/canary.csv", "data": " sql:FROM 'private/canary.csv'"}.items():
        lines = [line for line in plain.splitlines() if not line.startswith(f"{name} =")]
        (folder / "config.toml").write_text("\n".join([f'{name} = "{word}"', *lines]) + "\n")
        with monkeypatch.context() as patch:
            patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody"))
            seal_again(folder)
        before = outside()
        SEEN.clear()
        LOOKING.append(True)
        unalike(command[0], folder, *command[1:])
        LOOKING.clear()
        assert not [path for path in SEEN if "canary" in path], (name, command)
        assert outside() == before
