"""Is the owner of a node told why the link does not answer?"""

import socket
import ssl
import threading
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("flwr")

from unalike.deploy import make_authority
from unalike.deploy.transport.flower import free_port
from unalike.deploy.transport.launcher import ShortSleep, seldom
from unalike.deploy.transport.probe import explain_silence


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_authority(folder, ["127.0.0.1"])
    return folder


@contextmanager
def listening(certificates=None):
    """Somebody who accepts connections, and speaks TLS if there are certificates."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=welcome, args=(server, certificates), daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)


def welcome(server, certificates):
    visitor, _ = server.accept()
    with visitor:
        if certificates is None:
            visitor.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
        with suppress(OSError):  # a visitor that does not like the certificate leaves
            context.wrap_socket(visitor, server_side=True).close()


def test_nobody_is_there(ours):
    link = f"127.0.0.1:{free_port()}"
    assert explain_silence(link, ours / "ca.pem").startswith(f"nobody listens at {link}; the server has not")


def test_there_is_no_such_host(ours):
    said = explain_silence("no.such.host.invalid:9092", ours / "ca.pem")
    assert said.startswith("there is no host called no.such.host.invalid; check --server")


def test_the_right_link_is_only_not_ready(ours):
    with listening(ours) as link:
        assert explain_silence(link, ours / "ca.pem") == f"{link} is there, but does not take nodes yet."


def test_the_certificate_is_of_another_authority(ours, tmp_path):
    make_authority(tmp_path, ["127.0.0.1"])
    with listening(ours) as link:
        said = explain_silence(link, tmp_path / "ca.pem")
    assert f"the certificate of {link} is not of the authority in {tmp_path / 'ca.pem'}" in said
    assert "get ca.pem from the server's owner" in said


def test_the_certificate_is_for_another_name(tmp_path, monkeypatch):
    monkeypatch.setattr("unalike.deploy.transport.certificates._ALWAYS", ())
    make_authority(tmp_path, ["fl.example.org"])
    with listening(tmp_path) as link:
        said = explain_silence(link, tmp_path / "ca.pem")
    assert said.startswith(f"the certificate of {link} is not made for 127.0.0.1; give --server the name")
    assert "unalike certs --hosts 127.0.0.1 --replace" in said


def test_somebody_else_listens_there(ours):
    with listening() as link:
        said = explain_silence(link, ours / "ca.pem")
    assert said.startswith(f"{link} does not speak TLS; another program listens there")


def test_a_node_without_keys_at_a_link_with_certificates(ours):
    with listening(ours) as link:
        assert "leave out --insecure" in explain_silence(link, None)


def test_a_busy_node_looks_often_and_an_idle_one_seldom(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    node = ShortSleep(1.0)
    assert node.between_looks() == 1.0
    node.message_came()
    assert node.between_looks() == 0.2
    now[0] += 4
    assert node.between_looks() == pytest.approx(0.4)
    now[0] += 40
    assert node.between_looks() == 1.0


def test_work_that_need_not_be_done_always_is_done_seldom(monkeypatch):
    now, done = [100.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    work = seldom(done.append, pause=1.0)
    for moment in (100.0, 100.5, 100.9, 101.0, 101.5, 107.0):
        now[0] = moment
        work(moment)
    assert done == [100.0, 101.0, 107.0]
