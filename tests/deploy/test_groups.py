"""Do real clients have groups, and does each see its own multiplier alone?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.client_config import PROTOCOL, NodeRows
from unalike.deploy.node_agreement import agree_groups, gather_federation
from unalike.deploy.server import check_servable
from unalike.deploy.transport.messages import WireMessage

from .in_process_nodes import Village, experiment
from .test_server import served, simulated

GROUPS = ["north", "south", "north", "south"]


@pytest.fixture(scope="module")
def federation():
    four = unalike.load("digits", clients=4, partition="dirichlet:0.5", samples=200, seed=1)
    return four.with_groups(GROUPS)


@pytest.fixture
def village(federation, tmp_path):
    return Village(federation, tmp_path / "nodes")


@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": "gifair", "options": {"rho": 0.9}},
        {"algorithm": "gifair-per", "options": {"rho": 0.9}},
        {"algorithm": "term-group", "options": {"t": 5.0}},
        {"algorithm": "afl"},
    ],
    ids=lambda values: values["algorithm"],
)
def test_fair_methods_make_the_same_model_with_real_clients(federation, village, tmp_path, values):
    here, there = simulated(federation, **values), served(village, tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-5
    assert there.setting.federation.groups == tuple(GROUPS)


def test_every_client_is_shown_its_own_multiplier_alone(village, tmp_path):
    served(village, tmp_path / "run", algorithm="gifair", options={"rho": 0.9})
    trained = [(name, request) for name, request in village.requests if request.kind == "train"]
    for name, request in trained:
        own = np.zeros(4, bool)
        own[list(village.workers).index(name)] = True
        assert np.array_equal(request.arrays["message/multipliers"] > 0, own)
    others = [r for _, r in village.requests if r.kind in ("evaluate", "finish")]
    assert others
    assert not any(request.arrays["message/multipliers"].any() for request in others)


def test_columns_of_groups_are_recorded(village, tmp_path):
    run = served(village, tmp_path / "run", algorithm="fedavg", evaluate_every=1)
    clients = run.client_metrics()
    assert run.setting.federation.groups == tuple(GROUPS)
    assert len(clients["test_accuracy"]) == 4


def test_a_file_of_the_server_stands_over_what_nodes_say(federation, village, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("client,group\n" + "".join(f"node-{i},{g}\n" for i, g in enumerate("aabb")))
    told = {name: NodeRows.of(worker.federation) for name, worker in village.workers.items()}
    assert gather_federation(told, experiment(groups=str(path))).groups == tuple("aabb")
    path.write_text("client,group\nnode-0,a\nsomebody,b\n")
    with pytest.raises(unalike.UnalikeError, match=r"somebody|node-1"):
        gather_federation(told, experiment(groups=str(path)))


def test_a_node_that_says_no_group_is_named(village):
    told = {name: NodeRows.of(worker.federation) for name, worker in village.workers.items()}
    told["node-2"] = replace(told["node-2"], group=None)
    with pytest.raises(unalike.DataError, match="node node-2 says no group"):
        agree_groups(told)


def test_groups_survive_the_wire_and_nodes_without_one_say_nothing(federation):
    one = NodeRows.of(federation.subset([1]))
    assert NodeRows.read(one.write()) == one
    assert one.group == "south"
    assert "group" not in replace(one, group=None).write()


def test_a_node_keeps_its_group_while_its_rows_come_and_go(federation, tmp_path):
    class Stream:
        def federation(self):
            return replace(federation.subset([0]), groups=None)

    worker = ClientWorker(federation.subset([0]), tmp_path, stream=Stream())
    answer = worker.answer(WireMessage("introduce", {"protocol": PROTOCOL}))
    assert NodeRows.read(answer.numbers["rows"]).group == "north"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"groups": "column:region"}, "stay with real clients"),
        ({"groups": "nowhere.csv"}, "nowhere.csv"),
        ({"algorithm": "gifair", "options": {"lam": 0.01}}, "say rho"),
    ],
)
def test_what_cannot_be_known_of_real_clients_is_refused_before_they_come(values, words):
    with pytest.raises(unalike.UnalikeError, match=words):
        check_servable(experiment(**values))


def test_nobody_tells_the_losses_of_others(federation, village, tmp_path):
    """A node that says that all others have huge losses is believed of itself alone."""

    def lies(request, answer):
        if request.kind != "train":
            return answer
        arrays = {**answer.arrays, "upload/losses": np.full(4, 1e6, np.float32)}
        return replace(answer, arrays={**arrays, "upload/seen": np.ones(4, np.float32)})

    village.mischief["node-1"] = lies
    run = served(village, tmp_path / "run", algorithm="gifair", options={"rho": 0.9}, rounds=2)
    losses = np.asarray(run.state["losses"])
    assert losses[1] == pytest.approx(1e6)
    assert losses[[0, 2, 3]].max() < 10
