"""Do messages travel between real processes of Flower's, and is everybody else kept out?

One link with TLS and a list of allowed nodes, and two nodes: their SuperNodes are processes, their apps run
in threads here. The tests are in an order: what is killed or shut out comes last.
"""

import base64
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from unalike.deploy import (
    SuperLink,
    WireMessage,
    make_authority,
    make_node_key,
    message_app,
    read_allowed,
    serve_node,
)
from unalike.deploy.transport.flower import free_port
from unalike.errors import ConfigError, DataError, RunError

pytest.importorskip("flwr")

import httpx
from flwr.proto.fleet_pb2 import ActivateNodeRequest, PullMessagesRequest, RegisterNodeFleetRequest
from flwr.proto.node_pb2 import Node
from flwr.supercore.protobuf.constants import PROTOBUF_MEDIA_TYPE

from unalike.deploy.transport import control
from unalike.deploy.transport.access_control import HEADER, fingerprint
from unalike.deploy.transport.wire import fleet

ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.zeros((0, 2)), "n": np.asarray(3)}
NAMES = ("anna", "bert")
LARGEST = 100_000


def answer(wire_message, context):
    """What the nodes of these tests do."""
    if wire_message.kind == "raise":
        raise ValueError("patient 17 is ill")
    if wire_message.kind == "slow":
        time.sleep(1.5)
    if wire_message.kind == "grow":
        return WireMessage("grown", {}, {"w": np.random.default_rng(0).random(1000)})
    return WireMessage(f"{wire_message.kind} back", wire_message.numbers, wire_message.arrays)


class NodeInThread:
    """A node as an organization would run it, and what it logs."""

    def __init__(self, name, key, base, address, root=None):
        self.lines, self.stop, self.folder = [], threading.Event(), base / name
        root = root or base / "certificates" / "ca.pem"
        arguments = (message_app(answer), address, root, key, self.folder, self.stop, self.lines.append)
        options = {"pull_every": 0.3, "pause": 0.2}
        self.thread = threading.Thread(target=serve_node, args=arguments, kwargs=options, daemon=True)
        self.thread.start()

    def logs(self, words):
        return any(words in line for line in self.lines)

    def pid(self):
        """The SuperNode's process."""
        return next(iter(processes("--superexec-auth-secret-file", str(self.folder / "secret"))))

    def end(self):
        self.stop.set()
        self.thread.join(10)
        assert not self.thread.is_alive()


class Deployment:
    """A link, its nodes, and the post of a run."""

    def __init__(self, base):
        self.base, self.certificates = base, base / "certificates"
        self.address = f"127.0.0.1:{free_port()}"
        make_authority(self.certificates, ["127.0.0.1"])
        self.keys = {name: make_node_key(self.certificates, name)[0] for name in NAMES}
        self.allowed = read_allowed(self.certificates)
        self.nodes = []

    def open(self):
        folder = self.base / "link"
        self.link = SuperLink(self.address, self.certificates, self.allowed, folder, largest_request=LARGEST)
        self.link.__enter__()
        self.post = self.link.open()

    def join(self, name, key, root=None):
        self.nodes.append(NodeInThread(name, key, self.base, self.address, root))
        return self.nodes[-1]

    def ask(self, kind, nodes=None, limit=10_000, numbers=None, post=None):
        post = post or self.post
        numbers = {"x": 0.5, "i": 3, "b": True, "s": "ü"} if numbers is None else numbers
        wire_messages = [
            (node, WireMessage(kind, numbers, ARRAYS)) for node in (nodes or post.nodes().values())
        ]
        return self.wait(post.send_many(wire_messages, group="1", ttl=60.0), limit)

    def wait(self, ids, limit=10_000):
        arrivals = []

        def complete():
            arrivals.extend(self.post.collect(ids, limit))
            return len(arrivals) == len(ids)

        until(complete)
        return arrivals


def processes(*words):
    """The numbers of the processes of this machine whose command line holds all of the words."""
    for entry in Path("/proc").iterdir():
        try:
            with (entry / "cmdline").open("rb") as file:
                command = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if entry.name.isdecimal() and all(word in command for word in words):
            yield int(entry.name)


def until(condition, patience=40.0):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def there(deployment):
    return set(deployment.post.nodes()) == set(NAMES)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    deployment = Deployment(tmp_path_factory.mktemp("deployment"))
    deployment.open()
    try:
        for name in NAMES:
            deployment.join(name, deployment.keys[name])
        until(lambda: there(deployment))
        yield deployment
    finally:
        for node in deployment.nodes:
            node.stop.set()
        for node in deployment.nodes:
            node.end()
        deployment.link.close()
        assert not list(processes("--superlink", deployment.address))
        assert not list(processes("--database", str(deployment.base / "link" / "link.db")))


def test_mistakes_of_a_user_are_sentences(tmp_path):
    folder, root = tmp_path / "folder", make_authority(tmp_path / "certificates", [])
    key, _ = make_node_key(tmp_path, "anna")
    with pytest.raises(ConfigError, match="'nonsense' is not an address"):
        SuperLink("nonsense", None, None, folder)
    with pytest.raises(ConfigError, match="a list of allowed nodes needs certificates"):
        SuperLink("127.0.0.1:1", None, [], folder)
    with pytest.raises(ConfigError, match=r"has no ca\.pem"):
        SuperLink("127.0.0.1:1", tmp_path, None, folder)
    arguments = (answer, "127.0.0.1:1")
    with pytest.raises(ConfigError, match="needs the link's certificate"):
        serve_node(*arguments, None, key, folder, threading.Event())
    with pytest.raises(ConfigError, match="there is no certificate"):
        serve_node(*arguments, tmp_path / "gone.pem", None, folder, threading.Event())
    with pytest.raises(DataError, match="is not a node's private key"):
        serve_node(*arguments, root, root, folder, threading.Event())
    with pytest.raises(ConfigError, match="cannot pull every 0 seconds"):
        serve_node(*arguments, root, None, folder, threading.Event(), pull_every=0)


def test_a_flower_of_another_version_is_a_sentence(monkeypatch):
    from importlib import metadata

    from unalike.deploy import check_flower

    check_flower()
    monkeypatch.setattr(metadata, "version", lambda name: "1.30.0")
    with pytest.raises(
        ConfigError, match=r"Flower 1\.30\.0 is installed, but deployments work with 1\.41\.x"
    ):
        check_flower()


def test_without_flower_there_is_a_sentence_that_says_what_to_install(monkeypatch, tmp_path):
    from importlib import util

    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[flower\]'"):
        SuperLink("127.0.0.1:1", None, None, tmp_path).__enter__()
    with pytest.raises(ConfigError, match=r"pip install '\.\[flower\]'"):
        make_node_key(tmp_path, "anna")


def same(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()


def test_parcels_come_back_as_they_were_sent(deployment):
    names = deployment.post.nodes()
    arrivals = deployment.ask("echo")
    assert {arrival.node_id for arrival in arrivals} == set(names.values())
    for arrival in arrivals:
        assert arrival.error is None
        assert arrival.wire_message.kind == "echo back"
        assert dict(arrival.wire_message.numbers) == {"x": 0.5, "i": 3, "b": True, "s": "ü"}
        assert all(same(arrival.wire_message.arrays[name], ARRAYS[name]) for name in ARRAYS)
        assert 0 < arrival.seconds < 40


def test_an_answer_is_collected_once_and_unknown_messages_are_no_answers(deployment):
    number = deployment.post.send(deployment.post.nodes()["anna"], WireMessage("echo"))
    assert len(deployment.wait([number])) == 1
    assert deployment.post.collect([number, "unknown"]) == []
    assert deployment.post.collect([]) == []


def test_an_app_that_raises_becomes_an_error_and_its_words_stay_at_the_node(deployment):
    arrivals = deployment.ask("raise")
    assert all(arrival.wire_message is None for arrival in arrivals)
    assert {arrival.error for arrival in arrivals} == {
        "the node's app raised ValueError; the node's log says more."
    }
    assert deployment.nodes[0].logs("patient 17 is ill")


def test_an_oversized_answer_is_an_error_and_the_next_one_is_fine(deployment):
    anna = [deployment.post.nodes()["anna"]]
    large, fine = deployment.ask("grow", anna, 7999)[0], deployment.ask("grow", anna, 8000)[0]
    assert large.error == "the message is too large: its arrays have more than 7999 bytes."
    assert large.wire_message is None
    assert fine.wire_message.arrays["w"].size == 1000


def test_a_message_to_nobody_and_one_without_time_are_errors_of_their_own(deployment):
    post, wire_message = deployment.post, WireMessage("echo")
    nobody, late = (
        post.send(12345, wire_message),
        post.send(post.nodes()["anna"], WireMessage("slow"), ttl=1.0),
    )
    errors = {arrival.message_id: arrival.error for arrival in deployment.wait([nobody, late])}
    assert errors == {nobody: "the link does not know this node.", late: "there was no answer in time."}


def test_the_bytes_of_a_run_are_counted_in_both_directions(deployment):
    post, arrays = deployment.post, {"w": np.zeros(5000, np.uint8)}
    before = post.traffic()
    deployment.wait([post.send(post.nodes()["anna"], WireMessage("echo", {}, arrays))])
    for now, then in zip(post.traffic(), before, strict=True):
        assert 5000 < now - then < 8000


def test_flowers_own_grid_reaches_the_nodes(deployment):
    assert set(deployment.post.grid.get_node_ids()) == set(deployment.post.nodes().values())


def refused(deployment, words):
    found = []

    def seen():
        found.extend(deployment.link.refusals())
        return any(words in line for line in found)

    until(seen, 5.0)
    return found


@pytest.fixture(scope="module")
def stranger(deployment):
    return make_node_key(deployment.base / "strangers", "eve")


def call(deployment, key, method, request):
    """Speak to the link as the SuperNode with this key would."""
    with fleet(deployment.address, (deployment.certificates / "ca.pem").read_bytes(), key) as client:
        return getattr(client, method)(request)


def test_an_unknown_key_is_refused(deployment, stranger):
    eve = read_allowed(stranger[1])[0].public_key
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        call(deployment, stranger[0], "ActivateNode", ActivateNodeRequest(public_key=eve))
    refused(deployment, f"with key {fingerprint(eve)}: its key is not among those that this link allows")
    assert set(deployment.post.nodes()) == set(NAMES)


def test_a_node_without_an_allowed_key_cannot_register_itself(deployment, stranger):
    eve, anna = read_allowed(stranger[1])[0], deployment.allowed[0].public_key
    headers = {"flwr-package-version": "1.41.0"}
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        call(deployment, stranger[0], "RegisterNode", RegisterNodeFleetRequest(public_key=eve.public_key))
    assert web(deployment, "/v1/fleet/register-node", headers) == 404
    refused(deployment, "127.0.0.1 without a key: its key is not among")
    hidden = [("flwr-public-key", base64.b64encode(key).decode()) for key in (eve.public_key, anna)]
    assert web(deployment, "/v1/fleet/register-node", [*headers.items(), *hidden]) == 404


def test_a_node_cannot_pretend_to_be_another(deployment, stranger):
    annas = PullMessagesRequest(node=Node(node_id=deployment.post.nodes()["anna"]))
    for key in (stranger[0], deployment.keys["bert"]):
        with pytest.raises(httpx.HTTPStatusError, match="401"):
            call(deployment, key, "PullMessages", annas)
    refused(deployment, "its signature is wrong, or it speaks for another node")
    stolen = ActivateNodeRequest(public_key=deployment.allowed[0].public_key, heartbeat_interval=30)
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        call(deployment, deployment.keys["bert"], "ActivateNode", stolen)


def test_a_key_is_good_for_one_connection_at_a_time(deployment):
    again = ActivateNodeRequest(public_key=deployment.allowed[0].public_key, heartbeat_interval=30)
    with pytest.raises(httpx.HTTPStatusError):
        call(deployment, deployment.keys["anna"], "ActivateNode", again)
    refused(deployment, "another node with its key is connected")


def test_plain_http_and_another_authority_are_refused(deployment, tmp_path):
    with pytest.raises(httpx.TransportError):
        httpx.post(f"http://{deployment.address}/v1/fleet/pull-messages")
    refused(deployment, "it did not speak TLS")
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://{deployment.address}/health")
    refused(deployment, "it does not trust this link's certificate")


def test_a_node_that_trusts_another_authority_says_so(deployment, stranger, tmp_path):
    make_authority(tmp_path, ["127.0.0.1"])
    node = NodeInThread("lost", stranger[0], deployment.base, deployment.address, tmp_path / "ca.pem")
    try:
        until(lambda: node.logs(f"the certificate of {deployment.address} is not of the authority in"))
    finally:
        node.end()


def web(deployment, path, headers, content=b""):
    import ssl

    trust = ssl.create_default_context(cafile=deployment.certificates / "ca.pem")
    return httpx.post(
        f"https://{deployment.address}{path}", headers=headers, content=content, verify=trust
    ).status_code


@pytest.mark.parametrize(
    "path",
    [
        "/v1/control/register-node",
        "/v1/control/start-run",
        "/v1/runtime/acquire-task",
        "/docs",
        "/health",
        "/",
    ],
)
def test_strangers_cannot_do_what_the_owner_may(deployment, path):
    headers = {"content-type": PROTOBUF_MEDIA_TYPE, "flwr-package-version": "1.41.0"}
    assert web(deployment, path, headers) == 403
    assert web(deployment, path, headers | {HEADER: "0" * 64}) == 403


def test_strangers_are_noted_and_so_are_other_versions_and_huge_requests(deployment):
    web(deployment, "/v1/control/list-runs", {HEADER: "guess"})
    refused(deployment, "it asked for what only this link's owner may do")
    assert web(deployment, "/v1/fleet/pull-messages", {"flwr-package-version": "1.39.0"}) == 426
    refused(deployment, "it has Flower '1.39.0', and this link needs 1.41.x")
    right, huge = {"flwr-package-version": "1.41.0"}, bytes(LARGEST + 1)
    assert web(deployment, "/v1/fleet/push-object", right, huge) == 413
    refused(deployment, "it sent a request of more than 100000 bytes")


def test_a_huge_request_of_undeclared_size_is_cut_off(deployment):
    anna = deployment.allowed[0].public_key
    key = {"flwr-public-key": base64.b64encode(anna).decode(), "flwr-package-version": "1.41.0"}
    right = key | {"content-type": PROTOBUF_MEDIA_TYPE}
    pieces = (bytes(10_000) for _ in range(LARGEST // 10_000 + 1))
    assert web(deployment, "/v1/fleet/push-object", right, pieces) >= 400
    refused(deployment, f"with key {fingerprint(anna)}: it sent a request of more than")


def test_a_killed_supernode_comes_back_under_its_name_but_not_while_it_is_shut_out(deployment):
    before, node = deployment.post.nodes(), deployment.nodes[1]
    anna, bert = deployment.allowed
    node.lines.clear()
    deployment.link.allow([anna])
    os.kill(node.pid(), signal.SIGKILL)
    assert set(deployment.post.nodes()) == {"anna"}
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        call(deployment, deployment.keys["bert"], "PullMessages", PullMessagesRequest())
    until(lambda: node.logs("started again: Failed to initialize the connection"))
    assert node.logs("its key is not among those that this link allows")
    refused(deployment, f"with key {fingerprint(bert.public_key)}: its key is not among")
    deployment.link.allow([anna, bert])
    until(lambda: node.logs("connected to"))
    assert deployment.post.nodes() == before
    assert [arrival.error for arrival in deployment.ask("echo", [before["bert"]])] == [None]


def test_nodes_that_come_before_the_link_knows_them_wait_at_the_door(tmp_path, monkeypatch):
    register, late = control.register, Deployment(tmp_path)

    def slow(*arguments):
        time.sleep(4)  # longer than a node waits between two attempts
        return register(*arguments)

    monkeypatch.setattr(control, "register", slow)
    node = late.join("anna", late.keys["anna"])
    try:
        until(lambda: node.logs(f"nobody listens at {late.address}; the server has not been started"))
        late.open()
        until(lambda: node.logs("connected to"))
        assert late.link.refusals() == []
        assert not node.logs("started again")
    finally:
        node.end()
        late.link.close()


def test_two_links_cannot_share_a_folder_or_an_address(deployment):
    with pytest.raises(RunError, match="is in use by process"):
        SuperLink(
            deployment.address, deployment.certificates, deployment.allowed, deployment.base / "link"
        ).__enter__()


def test_a_killed_link_continues_with_the_same_nodes_and_a_new_run(deployment):
    before, old = deployment.post.nodes(), deployment.post
    pid = next(iter(processes("--database", str(deployment.base / "link" / "link.db"))))
    os.kill(pid, signal.SIGKILL)
    until(lambda: not deployment.link.alive())
    with pytest.raises(RunError, match="the link did not answer when asked to list"):
        old.nodes()
    deployment.link.close()
    deployment.open()
    until(lambda: deployment.post.nodes() == before)
    assert {arrival.error for arrival in deployment.ask("echo")} == {None}


def test_a_node_that_stops_does_so_quickly_and_says_goodbye(deployment):
    began = time.monotonic()
    deployment.nodes[1].end()
    assert time.monotonic() - began < 10
    assert set(deployment.post.nodes()) == {"anna"}


def test_flowers_processes_end_when_their_owner_does(deployment):
    link = deployment.link._child
    link._process.stdin.close()  # what the operating system does when the owner is killed
    until(lambda: not link.alive(), 8.0)
