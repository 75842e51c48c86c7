"""Do nodes that agree tell one message each, is it the one of a simulation, and who is left out?"""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import unalike
from unalike.data.similarity import measure_similarity
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.client.similarity_message import SimilarityWorker
from unalike.deploy.node_agreement import gather_federation
from unalike.deploy.node_similarity import ask_directions, write_node_similarity
from unalike.deploy.server import introductions
from unalike.deploy.transport.messages import WireMessage
from unalike.errors import ConfigError, RunError

from .in_process_nodes import Village, experiment

CLIENTS = 4


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=CLIENTS, partition="imbalance:5,0", samples=300, seed=1)


@pytest.fixture
def nodes(federation, tmp_path):
    """Nodes whose owners agree to tell in these ways."""

    def made(*tellings):
        workers = {}
        for i, telling in enumerate(tellings):
            own = federation.subset([i])
            worker = ClientWorker(own, tmp_path / f"node-{i}")
            teller = SimilarityWorker(lambda own=own: own, telling)
            workers[f"node-{i}"] = SimpleNamespace(answer=teller.in_front_of(worker.answer), federation=own)
        return Village.of(workers)

    return made


def asked(village, log=lambda line: None):
    told = introductions(village, len(village.workers), 5.0, lambda line: None)
    return ask_directions(experiment(), village, told, 5.0, log), told


def test_real_clients_and_simulated_ones_have_the_same_graph(nodes, federation):
    found, _ = asked(nodes(*["plain"] * CLIENTS))
    simulated = measure_similarity(federation)
    np.testing.assert_allclose(found.misalignments, simulated.misalignments, atol=1e-9)
    assert found.homogeneity == pytest.approx(simulated.homogeneity, rel=1e-6)
    assert "nothing to compare it with" in found.verdict()


def test_who_does_not_agree_is_left_out_and_named(nodes):
    said = []
    found, _ = asked(nodes("plain", None, "plain", "plain"), said.append)
    assert found.clients.tolist() == [0, 2, 3]
    assert found.importance[1] == 0
    assert len(said) == 1
    assert "node-1" in said[0]
    assert "does not tell its direction" in said[0]
    with pytest.raises(RunError, match="no node tells"):
        asked(nodes(None, None))


def test_a_projection_is_in_the_frame_of_all(nodes):
    whole, _ = asked(nodes(*["plain"] * CLIENTS))
    frame, _ = asked(nodes(*["projection:64"] * CLIENTS))
    np.testing.assert_allclose(frame.misalignments, whole.misalignments, atol=1e-9)
    with pytest.raises(RunError, match="different ways"):
        asked(nodes("plain", "projection:8"))


def test_noise_is_drawn_once_however_often_a_server_asks(nodes):
    village = nodes(*["gaussian:1,1e-5"] * CLIENTS)
    first, _ = asked(village)
    again, _ = asked(village)
    np.testing.assert_array_equal(first.misalignments, again.misalignments)
    others, _ = asked(nodes(*["gaussian:1,1e-5"] * CLIENTS))
    assert not np.allclose(first.misalignments, others.misalignments)


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ({}, "did not answer with a direction"),
        ({"direction": np.ones(3)}, "unit vectors"),
        ({"direction": np.full(64, np.nan)}, "finite"),
        ({"direction": np.eye(2)}, "did not answer with a direction"),
        ({"direction": np.ones(1, np.int64)}, "did not answer with a direction"),
    ],
)
def test_what_is_no_direction_is_refused_with_the_nodes_name(nodes, lie, words):
    village = nodes(*["plain"] * CLIENTS)
    village.mischief["node-2"] = lambda request, answer: (
        WireMessage("direction", {}, lie) if request.kind == "direction" else answer
    )
    with pytest.raises(RunError, match=f"node node-2.*{words}"):
        asked(village)


def test_a_run_folder_gets_numbers_and_a_page(nodes, tmp_path):
    found, told = asked(nodes(*["plain"] * CLIENTS))
    numbers, page = write_node_similarity(found, gather_federation(told, experiment()), tmp_path)
    stored = json.loads(numbers.read_text(), parse_constant=pytest.fail)
    assert stored["homogeneity"] == pytest.approx(found.homogeneity)
    assert stored["iid_reference"] is None
    assert "node-3" in page.read_text()


def test_a_way_of_telling_that_does_not_exist_is_refused_at_once():
    with pytest.raises(ConfigError, match="unknown message privacy"):
        SimilarityWorker(list, "secretly")


def test_nodes_that_share_a_secret_have_the_same_graph_and_show_no_direction(nodes, federation, tmp_path):
    (tmp_path / "secret").write_bytes(b"what the server does not know")
    village = nodes(*[f"rotation:{tmp_path / 'secret'}"] * CLIENTS)
    found, _ = asked(village)
    np.testing.assert_allclose(found.misalignments, measure_similarity(federation).misalignments, atol=1e-9)


def test_a_rotation_of_nodes_needs_a_secret_of_theirs():
    with pytest.raises(ConfigError, match="not with the server"):
        SimilarityWorker(lambda: None, "rotation")
