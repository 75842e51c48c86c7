"""What do `unalike certs`, `serve` and `join` say to somebody who makes a mistake?

One sentence, exit code 2, no traceback, and nothing on the disk; no test here waits for a network.
"""

import json

import pytest

from unalike.runs import RunFolder

pytest.importorskip("flwr")


@pytest.fixture
def keys(unalike):
    """Certificates and the keys of two nodes."""
    answer = unalike("certs", "--nodes", "ann,bob")
    assert answer.code == 0, answer


def refused(answer, words):
    assert answer.code == 2, answer
    assert words in answer.sentence
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("command", ["certs", "serve", "join"])
def test_every_command_explains_itself(unalike, command):
    answer = unalike(command, "--help")
    assert answer.code == 0
    assert "unalike" in answer.out
    assert "Options" in answer.out


def test_certificates_are_made_once_and_nodes_can_be_added(unalike, tmp_path, keys):
    before = (tmp_path / "certs" / "ca.pem").read_bytes()
    assert unalike("certs", "--nodes", "cyd").code == 0
    assert (tmp_path / "certs" / "ca.pem").read_bytes() == before
    assert sorted(path.stem for path in (tmp_path / "certs" / "nodes").glob("*.pub")) == ["ann", "bob", "cyd"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--no-server",), "say for which nodes to make keys, such as --nodes ann."),
        (("--nodes", "../../ann"), "'../../ann' cannot name a node"),
        (("--nodes", "an n"), "'an n' cannot name a node"),
        (("--nodes", "ann"), "ann.key"),
        (("--hosts", "fl example"), "fl example"),
        (("--nodes", "dan", "--out", "file"), "file"),
        (("--nod", "dan"), "No such option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_keys_that_cannot_be_made(unalike, tmp_path, keys, words, said):
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    refused(unalike("certs", *words), said)
    assert sorted(tmp_path.rglob("*")) == before


SERVER_MISTAKES = [
    (("--certificates", "nowhere"), "nowhere"),
    (("--insecure",), "say how many nodes to wait for, such as --clients 2."),
    (("--clients", "3"), "3 clients cannot come, for only 2 nodes are allowed."),
    (("--clients", "0"), "clients = 0 is not possible"),
    (("--address", "9092"), "'9092' is not an address; write host:port"),
    (("--address", "127.0.0.1:99999"), "is not an address"),
    (("--address", "no.such.host.invalid:9092"), "no.such.host.invalid"),
    (("--algorithm", "fedavgg"), "did you mean 'fedavg'?"),
    (("--algorithm", "dpasgd"), "has no server"),
    (("--analysis", "gp: y ~ x"), "which are single rows"),
    (("--analysis", "gp: y ~ x", "--set", "domian=0..1"), "did you mean 'domain'"),
    (("--analysis", "cox: y ~ x", "--set", "stratified=true", "--clients", "3"), "3 clients cannot come"),
    (("--network", "ring"), "network = 'ring' is not possible with real clients"),
    (
        ("--sampling", "target", "--per-round", "1"),
        "sampling 'target' needs data that deployed clients",
    ),
    (("--sampling", "md"), "give per_round"),
    (("--per-round", "3"), "per_round must be between 1 and the number of clients (2), but is 3"),
    (("--timing", "fedbuff:3"), "the number of clients (2)"),
    (("--streaming", "--central-dp", "1,0.8"), "--central-dp fixes weights before clients answer"),
    (("--streaming", "--importance", "equal"), "--streaming weighs nodes by the rows that they hold"),
    (("--stream", "constant:5"), "a node has its own (`unalike join --stream FOLDER`)"),
    (("--unseen", "0.5"), "unseen = 0.5 is not possible with real clients"),
    (("--restarts", "2"), "restarts = 2 is not possible with real clients"),
    (("--importance", "file.csv"), "importance = 'file.csv' is not possible with real clients"),
    (("--timing", "gossip:ring"), "needs a server"),
    (("--data", "digits"), "No such option"),
    (("--label", "ill"), "No such option"),
    (("--test-fraction", "1.5"), "test_fraction"),
    (("--wait", "0"), "--wait"),
    (("--patience", "-1"), "--patience"),
    (("--resume", "nowhere"), "nowhere"),
    (("experiment.toml",), "cannot read experiment.toml"),
]


@pytest.mark.parametrize(
    ("words", "said"),
    SERVER_MISTAKES,
    ids=[" ".join(words) for words, _ in SERVER_MISTAKES],
)
def test_a_server_that_cannot_be_started_leaves_nothing_behind(unalike, tmp_path, keys, words, said):
    refused(unalike("serve", "--wait", "1", *words), said)
    assert not (tmp_path / "runs").exists()


def test_nobody_comes(unalike, tmp_path, keys, port):
    answer = unalike("serve", "--wait", "1", "--address", port)
    refused(answer, "only 0 of 2 nodes came in 1 s.")
    assert not (tmp_path / "runs").exists()


def test_machines_are_told_in_json(unalike, keys):
    answer = unalike("serve", "--clients", "3", "--json")
    assert answer.code == 2
    assert "only 2 nodes are allowed" in json.loads(answer.out)["error"]


@pytest.fixture
def port():
    from unalike.deploy.transport.flower import free_port

    return f"127.0.0.1:{free_port()}"


NODE_MISTAKES = [
    ((), "a node needs its key, such as --key certs/nodes/ann.key"),
    (("--key", "nowhere.key"), "nowhere.key"),
    (("--key", "certs/nodes/ann.pub"), "ann.pub"),
    (("--key", "certs/nodes/ann.key", "--certificate", "nowhere.pem"), "there is no certificate nowhere.pem"),
    (("--key", "certs/nodes/ann.key", "--server", "here"), "'here' is not an address"),
    (("--key", "certs/nodes/ann.key", "--folder", "file"), "cannot use folder"),
    (("--insecure", "--server", "here"), "'here' is not an address"),
    (("--insecure", "--rounds", "3"), "No such option"),
    (("--insecure", "--memory", "200"), "say where with --stream FOLDER"),
    (("--insecure", "--stream", "."), "say how many rows are kept beside --stream, such as --memory 200"),
    (("--insecure", "--stream", "nowhere", "--memory", "9"), "there is no folder 'nowhere'"),
    (("--insecure", "--stream", ".", "--memory", "window:5"), "write --memory window:5,200"),
    (("--insecure", "--stream", ".", "--memory", "resrvoir:5"), "did you mean 'reservoir'?"),
    (("--insecure", "--stream", ".", "--memory", "9", "--local-dp", "1,0.5,1e-5"), "--local-dp does not"),
    (("--insecure", "--stream", ".", "--memory", "9", "--secure-only"), "--secure-only does not"),
]


@pytest.mark.parametrize(("words", "said"), NODE_MISTAKES, ids=[" ".join(w) for w, _ in NODE_MISTAKES])
def test_a_node_that_cannot_be_started(unalike, tmp_path, keys, words, said):
    (tmp_path / "file").write_text("")
    refused(unalike("join", "--data", "digits", "--clients", "2", "--client", "0", *words), said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--data", "digits", "--clients", "2"), "these data have 2 clients; say which one this is"),
        (("--data", "digits", "--clients", "2", "--client", "7"), "unknown client '7'"),
        (("--data", "nowhere"), "nowhere"),
    ],
    ids=["which", "unknown", "no data"],
)
def test_a_node_is_one_client_of_its_data(unalike, keys, words, said):
    refused(unalike("join", "--key", "certs/nodes/ann.key", *words), said)


# Runs of others ---------------------------------------------------------------------------------------------


@pytest.fixture
def deployed(tmp_path):
    RunFolder.create(tmp_path / "deployed", {"algorithm": "fedavg", "rounds": 3, "engine": "flower"})
    return "deployed"


def test_a_deployed_run_goes_on_with_its_nodes(unalike, deployed):
    refused(unalike("resume", deployed), f"go on with `unalike serve --resume {deployed}`")


@pytest.mark.parametrize("words", ["arrivals", "./arrivals", "folder:arrivals"])
def test_a_folder_that_grows_is_for_real_clients(unalike, tmp_path, words):
    (tmp_path / "arrivals").mkdir()
    refused(unalike("run", "--stream", words), "is a folder that grows, which only real clients have")


def test_a_simulated_run_does_not_go_on_with_real_clients(unalike, tmp_path, keys):
    RunFolder.create(tmp_path / "simulated", {"algorithm": "fedavg", "rounds": 3, "engine": "local"})
    answer = unalike("serve", "--resume", "simulated", "--wait", "1")
    refused(answer, "simulated was not trained with real clients; go on with `unalike resume simulated`.")


def test_settings_of_a_run_that_goes_on_cannot_be_changed_in_silence(unalike, deployed, keys):
    answer = unalike("serve", "--resume", deployed, "--learning-rate", "0.5", "--wait", "1")
    refused(answer, "learning_rate")


def test_a_simulation_does_not_run_on_real_clients(unalike):
    refused(unalike("run", "--engine", "flower", "--clients", "3"), "unalike serve")


def test_the_list_of_engines_says_where_else_one_can_train(unalike):
    answer = unalike("list", "engines", "--json")
    assert {"local", "debug", "ray", "flower"} == set(answer.json["engines"])
    assert "unalike serve" in answer.json["engines"]["flower"]
