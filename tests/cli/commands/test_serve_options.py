"""Does every option of `unalike serve` and `unalike join` do what it says, typed as a person types it?

Each scenario lets a few nodes join and serves one or two trainings with many options at once. An option that
is in no scenario fails the last tests.
"""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from typer.main import get_command

from unalike.cli import app
from unalike.runs import RunFolder

from .served import Network

TINY = ("--model", "linear", "--rounds", "2", "--quiet")
ADDRESS = "127.0.0.1:9311"
SEEN: dict[str, set[str]] = {"serve": set(), "join": set()}
"""Options that a scenario has used."""
RAN: set[str] = set()
"""Scenarios that this process has run."""


@pytest.fixture(autouse=True)
def counted(request):
    yield
    RAN.add(request.node.name)


@pytest.fixture
def network(unalike, monkeypatch):
    made = Network(monkeypatch)
    answer = unalike("certs", "--nodes", "ann,bob,cyd")
    assert answer.code == 0, answer

    def typed(command, *words):
        SEEN[command] |= {word for word in words if str(word).startswith("--")}
        return unalike(command, *words)

    made.type = typed
    return made


def joined(network, name, *words):
    given = ("--server", ADDRESS, "--certificate", "certs/ca.pem", "--key", f"certs/nodes/{name}.key")
    answer = network.type("join", *given, "--folder", f"places/{name}", *words)
    assert answer.code == 0, answer
    assert network.places[name] == (ADDRESS, Path("certs/ca.pem"), Path(f"places/{name}"))
    return answer


def served(network, *words):
    """What `serve` says where it ends well."""
    answer = network.type("serve", "--address", ADDRESS, *words)
    assert answer.code == 0, answer
    return answer


DIGITS = (
    *("--data", "digits", "--clients", "4", "--partition", "dirichlet:2", "--sizes", "lognormal:0.3"),
    *("--samples", "240", "--skew", "rotation:10", "--seed", "3", "--test-fraction", "0.25"),
    *("--validation-fraction", "0.1"),
)


def digits(network, *more):
    """Three nodes with digits; `more` are options of one of them each."""
    for i, name in enumerate(("ann", "bob", "cyd")):
        joined(network, name, *DIGITS, "--client", i, *(more[i] if i < len(more) else ()))


def record(path):
    with RunFolder.open(path, read_only=True) as folder:
        return dict(folder.config), folder.record.meta(), folder.record.events()


def test_sums_only_with_noise_that_a_budget_chooses(network, tmp_path):
    digits(network, (), (), ("--secure-only",))
    answer = served(
        *(network, *TINY, "--secure-aggregation", "--central-dp", "1", "--epsilon", "30", "--delta", "1e-4"),
        *("--clients", "3", "--certificates", "certs", "--allow", "certs/nodes", "--wait", "5"),
        *("--patience", "60", "--steps", "2", "--batch-size", "8", "--learning-rate", "0.2", "--clip", "5"),
        *("--momentum", "0.1", "--optimizer", "sgd", "--schedule", "constant", "--l2", "0.01"),
        *("--metrics", "accuracy,f1", "--seed", "4", "--evaluate-every", "1", "--track", "jsonl"),
        *("--out", "runs/secure", "--json"),
    )
    assert answer.json["rounds"] == 2
    kinds = {kind for _, kind in network.logs}
    assert "secret" in kinds
    assert "train" not in kinds
    config, meta, events = record("runs/secure")
    assert json.loads(meta["protection"])[0] is True
    assert not [event for event in events if event["kind"] in ("no secure sum", "dropped out")]
    assert config["momentum"] == 0.1
    assert config["metrics"] == "accuracy,f1"
    lines = (tmp_path / "runs" / "secure" / "rounds.jsonl").read_text().splitlines()
    assert len(lines) >= 2


@pytest.mark.usefixtures("reports")
def test_a_deployed_run_shows_its_protection_and_its_page_can_be_written_again(network, unalike, tmp_path):
    page = tmp_path / "runs" / "dp" / "report.html"
    digits(network)
    promise = ("--central-dp", "1,0.8,1e-4", "--epsilon", "90", "--secure-aggregation")
    answer = served(network, *TINY, *promise, "--out", "runs/dp")
    assert "protection noise" in answer.out
    config = tomllib.loads((tmp_path / "runs" / "dp" / "config.toml").read_text())
    told = {"secure_aggregation": True, "clip": 1.0, "noise": 0.8, "delta": 1e-4, "epsilon": 90.0}
    assert told.items() <= config["protection"].items()
    for again in (False, True):
        if again:
            assert unalike("report", "runs/dp").code == 0
        text = page.read_text()
        for words in ("delta 0.0001", "of a client, towards everybody but the server", "clip 1, noise 0.8"):
            assert words in text, (again, words)
        assert "Secure aggregation" in text
        assert all(f">{name}<" in text for name in ("ann", "bob", "cyd")), again
        assert "rows of ann, bob, cyd, who keep them" in text
    served(network, "--resume", "runs/dp", *promise)


def test_a_robust_watched_sampled_training_that_goes_on(network, tmp_path):
    digits(
        network,
        ("--group", "north"),
        ("--group", "south", "--local-dp", "1,5,1e-5"),
        ("--behavior", "random:1"),
    )
    Path("groups.json").write_text(json.dumps({"ann": "north", "bob": "south", "cyd": "south"}))
    given = (
        *(*TINY, "--algorithm", "fedprox", "--set", "mu=0.1", "--epochs", "1", "--per-round", "2"),
        *("--sampling", "uniform", "--aggregator", "median", "--monitor", "free-riders:5"),
        *("--importance", "equal", "--groups", "groups.json", "--server-optimizer", "sgd"),
        *("--server-learning-rate", "0.5", "--checkpoint-every", "1", "--evaluate-clients", "2"),
        *("--stop-at", "accuracy=0.999", "--out", "runs/robust"),
    )
    served(network, *given)
    served(network, *given, "--overwrite")
    config = record("runs/robust")[0]
    assert config["options"] == {"mu": 0.1}
    assert config["sampling"] == "uniform"
    served(network, "--resume", "runs/robust")


def test_settings_of_simulations_are_said_to_be_without_effect(network):
    digits(network)
    without = {
        **{"hardware": "spread:80", "bandwidth": "100,20,0.05", "dropout": "0.1", "timeout": "5"},
        **{"availability": "markov:0.5,0.9", "participation": "ca-fed", "until": "9", "beliefs": "known"},
        **{"underlay": "geant", "access": "5", "core": "2", "workload": "inaturalist"},
        "reference-sensitivity": "2",
    }
    words = [word for name, value in without.items() for word in (f"--{name}", value)]
    answer = served(network, *TINY, *words, "--out", "runs/s")
    for name in without:
        assert f"{name.replace('-', '_')} is of simulations" in answer.out, name


def test_asynchronous_training_of_a_model_with_statistics(network):
    digits(network)
    served(
        *(network, "--model", "mlp-bn:4", "--state", "average", "--timing", "fedbuff:2", "--rounds", "2"),
        *("--timing-weights", "identical", "--staleness", "polynomial:0.5", "--quiet", "--out", "runs/a"),
        *("--largest-weight", "0.9"),
    )
    assert record("runs/a")[0]["timing"] == "fedbuff:2"


def test_models_are_kept_for_unlearning_and_reference_rows_for_werm(network, tmp_path):
    digits(network)
    served(network, *TINY, "--unlearning", "full", "--ledger", "full", "--out", "runs/u")
    assert (tmp_path / "runs" / "u" / "unlearning").is_dir()
    served(network, *TINY, "--algorithm", "werm", "--reference-fraction", "0.3", "--out", "runs/w")


# Tables -----------------------------------------------------------------------------------------------------


def rows(n, seed, site="here"):
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, n), rng.choice(["f", "m"], n)
    ill = np.where(age + rng.normal(0, 15, n) > 50, "yes", "no")
    return [f"{i},{a},{s},{y},{site}" for i, (a, s, y) in enumerate(zip(age, sex, ill, strict=True))]


def written(path, n, seed, site="here"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["id,age,sex,ill,site", *rows(n, seed, site)]) + "\n")


def test_tables_answer_with_noise(network, tmp_path):
    for seed, name in enumerate(("ann", "bob", "cyd")):
        written(tmp_path / "tables" / name / "rows.csv", 60, seed)
        noise = ("--noise", "1000,1e-5,4", "--column-bounds", "age=0..100", "--column-bounds", "sex=f,m")
        joined(network, name, "--table", f"tables/{name}/rows.csv", *noise, "--secure-only")
    words = ("--secure-aggregation", "--out", "runs/n", "--json")
    found = served(network, "--analysis", "linear: age ~ sex", *words).json
    assert len(found["params"]) == 2
    assert any("epsilon 1000" in line for line in network.said)
    refusal = network.type(
        "serve", "--address", ADDRESS, "--analysis", "linear: age ~ ill", "--out", "runs/r"
    )
    assert refusal.code != 0
    for wrong in ("1", "a,b", "1,1e-5,0", "1,2"):
        answer = network.type(
            "join", "--table", "tables/ann/rows.csv", "--insecure", "--noise", wrong, *noise[2:]
        )
        assert answer.code == 2, answer
    for wrong in ("age", "age=", "age=1..0", "=1..2", "nothing=0..1"):
        words = (
            "--table",
            "tables/ann/rows.csv",
            "--insecure",
            "--noise",
            "1,1e-5",
            "--column-bounds",
            wrong,
        )
        answer = network.type("join", *words)
        assert answer.code == 2, answer


def test_tables_answer_and_their_statistics_prepare_a_training(network, tmp_path):
    for seed, name in enumerate(("ann", "bob", "cyd")):
        written(tmp_path / "tables" / name / "rows.csv", 60, seed)
        policy = ("--minimum-cell-count", "3", "--maximum-leverage", "0.9", "--maximum-questions", "200")
        edges = ("--bin-edges", "age=-1,0,1")
        limits = ("--time-limit", "300", "--memory-limit", "4000")
        joined(network, name, "--table", f"tables/{name}/rows.csv", *policy, *edges, *limits)
    told = served(network, "--statistics", "--json").json
    assert told["columns"]["age"]["count"] == 180
    answer = served(
        *(network, "--analysis", "logistic: ill ~ age + sex", "--set", "ridge=0.5", "--out", "runs/l"),
        "--quiet",
    )
    assert "age" in answer.out
    hidden = served(network, "--statistics", "--json", "--secure-aggregation").json
    assert hidden["columns"]["age"]["mean"] == pytest.approx(told["columns"]["age"]["mean"], rel=1e-12)
    words = ("--secure-aggregation", "--set", "ridge=0.5", "--out", "runs/s", "--json")
    masked = served(network, "--analysis", "logistic: ill ~ age + sex", *words).json
    opened = served(network, "--analysis", "logistic: ill ~ age + sex", *words[1:4], "runs/o", "--json").json
    assert masked["params"] == pytest.approx(opened["params"], rel=1e-9)
    # The same rows train, prepared by what was told, and one of the nodes has rows that come.
    Path("columns.json").write_text(json.dumps(told))
    how = (
        "--label",
        "ill",
        "--drop",
        "id,site",
        "--keep-columns",
        "sex",
        "--prepare",
        "columns.json",
        "--missing",
        "refuse",
    )
    for name in ("ann", "bob"):
        direction = ("--tell-direction", "plain")
        joined(network, name, "--data", f"tables/{name}", *how, *direction)
    Path("arrivals").mkdir()
    written(tmp_path / "one.csv", 40, 9, site="cyd")
    from_one_file = ("--client-column", "site", "--data", "one.csv", "--client", "cyd")
    how = ("--label", "ill", "--drop", "id", "--prepare", "columns.json")
    joined(network, "cyd", *from_one_file, *how, "--stream", "arrivals", "--memory", "30")
    answer = served(
        *(network, *TINY, "--streaming", "--test-fraction", "0.3", "--validation-fraction", "0.1"),
        *("--out", "runs/t", "--json"),
    )
    assert answer.json["clients"] == 3
    served(network, *TINY, "--clients", "2", "--similarity", "--out", "runs/d")
    assert list((tmp_path / "runs" / "d").glob("*similarity*"))


def test_a_table_beside_data_is_refused(network, tmp_path):
    written(tmp_path / "rows.csv", 60, 1)
    answer = network.type("join", "--insecure", "--table", "rows.csv", "--data", "digits")
    assert answer.code == 2
    assert "--data is of trainings" in answer.sentence


def test_without_keys(network, tmp_path):
    written(tmp_path / "zed" / "rows.csv", 60, 1)
    given = ("--insecure", "--folder", "places/zed", "--table", "zed/rows.csv", "--server", ADDRESS)
    assert network.type("join", *given).code == 0
    assert network.places["zed"][1] is None
    answer = network.type("serve", "--address", ADDRESS, "--insecure", "--clients", "1", "--statistics")
    assert answer.code == 0
    assert network.listening.certificates is None


def test_who_does_not_take_part_in_an_analysis_is_named_everywhere(network, tmp_path):
    for seed, name in enumerate(("ann", "bob", "cyd")):
        written(tmp_path / f"{name}.csv", 60, seed)
        joined(network, name, "--table", f"{name}.csv")
    lines = Path("cyd.csv").read_text().splitlines()
    Path("cyd.csv").write_text(
        "\n".join([lines[0], *(",".join([*w.split(",")[:1], "NA", *w.split(",")[2:]]) for w in lines[1:])])
    )
    joined(network, "cyd", "--table", "cyd.csv")
    formula = ("--analysis", "logistic: ill ~ age + sex")
    answer = network.type("serve", *formula, "--require-all", "--out", "runs/l", "--quiet")
    assert answer.code == 2
    assert "1 of 3 nodes do not take part (cyd: column 'age' has no value in any row" in answer.sentence
    assert not (tmp_path / "runs").exists()
    answer = served(network, *formula, "--out", "runs/l", "--quiet")
    folder = tmp_path / "runs" / "l"
    page = (folder / "report.html").read_text()
    texts = {"screen": answer.out, "page": page} | {
        kind: (folder / f"summary.{kind}").read_text() for kind in ("txt", "tex")
    }
    for where, text in texts.items():
        assert "Taking part: ann, bob. NOT taking part: cyd" in " ".join(text.split()), where
        assert "has no value in any row" in " ".join(text.split()), where
    assert "ill = yes" in texts["txt"]
    assert "ill = yes" in page
    events = record("runs/l")[2]
    assert [(event["kind"], event["name"]) for event in events] == [("not taking part", "cyd")]
    told = served(network, *formula, "--out", "runs/j", "--json").json
    assert told["taking_part"] == ["ann", "bob"]
    assert list(told["not_taking_part"]) == ["cyd"]


@pytest.mark.parametrize("name", ["logistic", "linear"])
def test_random_effects_of_a_model_that_has_none_are_refused_before_anybody_comes(network, name):
    answer = network.type("serve", "--analysis", f"{name}: ill ~ age + (1 | client)", "--wait", "1")
    assert answer.code == 2
    assert "random effects of clients" in answer.sentence
    assert not network.logs


# What is refused --------------------------------------------------------------------------------------------

NEVER = {
    **{
        "unseen": "0.5",
        "restarts": "2",
        "regret": "last",
        "evaluate-training": None,  # a flag
        "stream": "constant:5",
        "memory": "9",
        "historical-share": "0.2",
        "stream-weights": "fixed:1",
        "stream-period": "2",
    },
    **{"drift": "abrupt:5,label-swap", "drift-detector": "adwin", "behavior": "random:1", "dishonest": "1"},
    **{"network": "ring", "watermark": "pixels:4", "watermarked": "1"},
}


@pytest.mark.parametrize("name", NEVER)
def test_what_real_clients_cannot_do_is_refused_before_anybody_comes(network, tmp_path, name):
    answer = network.type("serve", *filter(None, (f"--{name}", NEVER[name])), "--wait", "1")
    assert answer.code == 2
    assert "Traceback" not in answer.err
    assert name.replace("-", "_") in answer.sentence or "has no server" in answer.sentence
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "words",
    [("--unlearning", "full"), ("--aggregator", "median"), ("--monitor", "free-riders:5")],
    ids=lambda words: words[0],
)
def test_what_needs_single_uploads_is_refused_beside_sums_before_anybody_comes(network, words):
    answer = network.type("serve", "--secure-aggregation", *words, "--wait", "1")
    assert answer.code == 2
    assert f"hides single uploads, but {words[0][2:]} needs them" in answer.sentence
    assert not network.logs


def test_patience_of_a_file_is_of_rounds_and_trackers_are_checked_at_once(network):
    digits(network)
    Path("experiment.toml").write_text('patience = 1\nlearning_rate = 0.0\nmodel = "linear"\nrounds = 9\n')
    answer = served(network, "experiment.toml", "--evaluate-every", "1", "--out", "runs/p", "--json")
    assert answer.json["rounds"] < 9  # a model that does not move does not become better
    assert "tracker" in network.type("serve", "--track", "nowhere", "--wait", "1").sentence


def test_nodes_that_joined_for_something_else_are_named(network, tmp_path):
    written(tmp_path / "rows.csv", 60, 1)
    for name in ("ann", "bob"):
        joined(network, name, *DIGITS, "--client", "0")
    joined(network, "cyd", "--table", "rows.csv")
    answer = network.type("serve", *TINY, "--out", "runs/x")
    assert answer.code == 2
    assert "cyd joined with --table; for a training, leave and join again with `unalike join --data" in (
        answer.sentence
    )
    answer = network.type("serve", "--statistics")
    assert "ann, bob joined with --data" in answer.sentence
    assert "`unalike join --table" in answer.sentence
    assert not (tmp_path / "runs").exists()


def test_a_training_that_every_node_refuses_ends_with_their_reasons_and_no_model(network, tmp_path):
    digits(network, *[("--secure-only",)] * 3)
    answer = network.type("serve", *TINY, "--rounds", "50", "--out", "runs/x")
    assert answer.code == 2
    assert "no node has trained, so there is no model (ann: this node trains by secure aggregation only" in (
        answer.sentence
    )
    assert not (tmp_path / "runs" / "x" / "model.safetensors").exists()
    assert not (tmp_path / "runs" / "x" / "report.html").exists()


def test_a_file_names_what_is_outside_its_folder_only_if_it_is_trusted(network, tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    rows = np.random.default_rng(0).normal(size=(30, 3))
    lines = [f"{('ann', 'bob', 'cyd')[i % 3]},{a},{b},{int(c > 0)}" for i, (a, b, c) in enumerate(rows)]
    (tmp_path / "rows.csv").write_text("\n".join(["site,a,b,label", *lines]) + "\n")
    (files / "node.toml").write_text('data = "rows.csv"\n')
    (files / "server.toml").write_text('track = "jsonl:outside.jsonl"\n')
    assert "--trust-file" in network.type("join", "files/node.toml").sentence
    assert "--trust-file" in network.type("serve", "files/server.toml", *TINY).sentence
    for name in ("ann", "bob", "cyd"):
        joined(network, name, "files/node.toml", "--trust-file", "--client-column", "site", "--client", name)
    served(network, "files/server.toml", "--trust-file", *TINY, "--out", "runs/x")
    assert (tmp_path / "outside.jsonl").exists()


# Every option -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["serve", "join"])
def test_no_option_is_without_a_test(command, request):
    """Runs after the scenarios of this file, in the process that ran all of them."""
    here = [item for item in request.session.items if item.path == request.node.path]
    if not {item.name for item in here if item.function is not request.function} <= RAN:
        pytest.skip("not all scenarios of this file were run in this process")
    known = {
        next(word for word in parameter.opts if word.startswith("--"))
        for parameter in get_command(app).commands[command].params
        if parameter.param_type_name == "option"
    }
    assert not known - SEEN[command] - {"--help"}
