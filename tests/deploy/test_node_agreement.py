"""Do organizations that wrote their tables apart train the model that the same tables make in one place?"""

import json
from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.data import Federation
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.client.rows import as_agreed, is_uncut, without_cut
from unalike.deploy.client_config import ClientConfig, NodeRows
from unalike.deploy.node_agreement import gather_federation, in_order
from unalike.deploy.server import introductions, make_contracts, make_folder, train_nodes
from unalike.deploy.transport.messages import MessageError
from unalike.experiments.build import make_federation, make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment

from .in_process_nodes import Village, experiment

TABLES = {
    "basel": ("age", "weight", "ill"),
    "basel-land": ("weight", "ill", "age"),
    "bern": ("age", "weight", "ill"),
    "zurich": ("ill", "age", "weight"),
}
"""Columns of each file, in its own order; a folder lists basel-land before basel."""
SAID = {"data": "tables", "label": "ill", "seed": 7, "test_fraction": 0.25, "validation_fraction": 0.1}


def write_table(path, header, seed, rows=40, only=None):
    """Patients, of whom the old and heavy are ill."""
    rng = np.random.default_rng(seed)
    age, weight = rng.normal(size=(2, rows))
    ill = np.where(age + weight + 0.3 * rng.normal(size=rows) > 0, "ill", "healthy")
    kept = ill == (ill if only is None else only)
    columns = {"age": age[kept], "weight": weight[kept], "ill": ill[kept]}
    table = zip(*([str(value) for value in columns[name]] for name in header), strict=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(",".join(row) for row in [header, *table]) + "\n")


@pytest.fixture
def folder(tmp_path):
    """All tables in one place, for a simulation; zurich has ill patients only."""
    for i, (name, header) in enumerate(TABLES.items()):
        only = "ill" if name == "zurich" else None
        write_table(tmp_path / "tables" / f"{name}.csv", header, i, rows=30 + 7 * i, only=only)
    return tmp_path / "tables"


def own_node(table, place, **said):
    """What `unalike join --data FOLDER` makes of a folder with one file."""
    own = place / table.stem
    own.mkdir(parents=True, exist_ok=True)
    (own / table.name).write_bytes(table.read_bytes())
    described = make_experiment({"data": str(own), "label": "ill", **said})
    uncut = is_uncut(described, None)
    federation = make_federation(without_cut(described) if uncut else described)
    return ClientWorker(federation, place / f"{table.stem}-node", uncut=uncut)


@pytest.fixture
def village(folder, tmp_path):
    tables = sorted(folder.glob("*.csv"), key=lambda path: path.stem[::-1])  # they come in any order
    return Village.of({table.stem: own_node(table, tmp_path / "apart") for table in tables})


def serve(village, out, **values):
    described = experiment(**{**SAID, **values})
    told = introductions(village, len(village.workers), 5.0, lambda line: None)
    return train_nodes(described, village, told, make_folder(described, out, False))[0]


def simulate(folder, **values):
    described = experiment(**{**SAID, "data": str(folder), **values})
    federation = make_federation(described)
    return run_experiment(described, federation=federation, task=make_task(described, federation))


@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold"])
def test_the_same_files_make_the_same_model_apart_and_in_one_place(folder, village, tmp_path, algorithm):
    here = simulate(folder, algorithm=algorithm)
    there = serve(village, tmp_path / "run", algorithm=algorithm)
    assert largest_difference(here.state, there.state) < 1e-6
    for name in ("test_accuracy", "test_loss", "train_loss"):
        np.testing.assert_allclose(there.metrics()[name], here.metrics()[name], rtol=1e-5)
    assert there.events() == []


def test_the_server_knows_names_sizes_and_order_as_a_simulation_does(folder, village, tmp_path):
    here, there = (run.setting.federation for run in (simulate(folder), serve(village, tmp_path / "run")))
    for name in ("names", "label_names", "columns", "target", "classes"):
        assert getattr(here, name) == getattr(there, name), name
    assert there.names == ("basel-land", "basel", "bern", "zurich")
    assert there.label_names == ("healthy", "ill")
    for part in ("train", "validation", "test"):
        assert getattr(here, part).sizes.tolist() == getattr(there, part).sizes.tolist()
    np.testing.assert_array_equal(here.importance, there.importance)


def test_every_node_has_the_rows_that_a_simulation_gives_it(folder, village):
    described = experiment(**SAID)
    told = introductions(village, 4, 5.0, lambda line: None)
    client_configs = make_contracts(described, gather_federation(told, described), "run")
    whole = make_federation(described.model_copy(update={"data": str(folder)}))
    for i, (name, client_config) in enumerate(zip(told, client_configs, strict=True)):
        node = village.workers[name]
        mine = as_agreed(node.federation, ClientConfig.read(client_config.write()), node.uncut)
        for part in ("train", "validation", "test"):
            for ours, theirs in zip(
                getattr(mine, part).client(0), getattr(whole, part).client(i), strict=True
            ):
                np.testing.assert_array_equal(ours, theirs)


def test_the_model_means_by_ill_what_patients_mean(village, tmp_path):
    run = serve(village, tmp_path / "run", rounds=40, algorithm="fedavg")
    zurich = run.setting.federation.names.index("zurich")
    clients = run.client_metrics()
    assert clients["test_accuracy"][zurich] > 0.8
    assert run.metrics()["test_accuracy"][-1] > 0.8


def test_an_owner_who_says_how_to_cut_is_followed_and_named(folder, village, tmp_path):
    node = own_node(folder / "bern.csv", tmp_path / "own", test_fraction=0.5)
    assert not node.uncut
    village.workers["bern"] = node
    run = serve(village, tmp_path / "run")
    assert run.setting.federation.test.sizes[2] == 22  # of 44
    (event,) = run.events()
    assert (event["kind"], event["name"]) == ("own split", "bern")


def test_whole_targets_of_one_node_are_floats_where_others_have_floats(tmp_path):
    for i, name in enumerate(("ann", "bob")):
        rng = np.random.default_rng(i)
        x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
        (tmp_path / "tables").mkdir(exist_ok=True)
        np.savez(tmp_path / "tables" / f"{name}.npz", x=x, y=np.arange(20) % 3 if name == "ann" else y)
    said = {"label": None}
    nodes = [own_node(tmp_path / "tables" / f"{n}.npz", tmp_path, **said) for n in ("ann", "bob")]
    there = serve(Village.of(dict(zip(("ann", "bob"), nodes, strict=True))), tmp_path / "run", **said)
    here = simulate(tmp_path / "tables", **said)
    assert there.setting.federation.classes is None
    assert largest_difference(here.state, there.state) < 1e-6


def test_images_may_be_bytes_at_one_node_and_floats_at_another(tmp_path):
    (tmp_path / "tables").mkdir()
    for i, name in enumerate(("ann", "bob")):
        x = np.random.default_rng(i).integers(0, 256, size=(20, 4, 4, 1)).astype(np.uint8)
        x = x if name == "ann" else x / np.float32(255)
        np.savez(tmp_path / "tables" / f"{name}.npz", x=x, y=np.arange(20) % 3)
    said = {"label": None}
    nodes = {n: own_node(tmp_path / "tables" / f"{n}.npz", tmp_path, **said) for n in ("ann", "bob")}
    there = serve(Village.of(nodes), tmp_path / "run", **said)
    assert largest_difference(simulate(tmp_path / "tables", **said).state, there.state) < 1e-6


def test_numbers_as_labels_may_be_fewer_at_one_node(tmp_path):
    (tmp_path / "tables").mkdir()
    for i, name in enumerate(("ann", "bob")):
        x = np.random.default_rng(i).normal(size=(20, 3))
        np.savez(tmp_path / "tables" / f"{name}.npz", x=x, y=np.arange(20) % (2 + i))
    said = {"label": None}
    nodes = {n: own_node(tmp_path / "tables" / f"{n}.npz", tmp_path, **said) for n in ("ann", "bob")}
    there = serve(Village.of(nodes), tmp_path / "run", **said)
    assert there.setting.federation.classes == 3
    assert largest_difference(simulate(tmp_path / "tables", **said).state, there.state) < 1e-6


# What cannot be agreed --------------------------------------------------------------------------------------

GOOD = NodeRows(
    10, 0, 0, 2, (2,), (), ("float32", "int32"), ("healthy", "ill"), ("age", "weight"), "ill", True
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"label_names": None}, "client 'ann' has words as labels but client 'bob' has numbers"),
        ({"label_names": ("Healthy", "ill")}, "client 'bob' has the label 'Healthy' but client 'ann' has"),
        ({"label_names": (" ", "ill")}, "client 'bob' has an empty label"),
        (
            {"columns": ("age", "height")},
            "client 'bob' has other columns than client 'ann': it lacks 'weight'",
        ),
        ({"columns": ("age", "weight", "bmi"), "shape": (3,)}, "it has also 'bmi'"),
        ({"columns": ("age",), "shape": (1,)}, "it lacks 'weight'"),
        ({"columns": None}, "client 'ann' has names of columns but client 'bob' has none"),
        ({"columns": ("age", "age")}, "client 'bob' has more than one column 'age'"),
        ({"target_name": "dead"}, "client 'bob' would predict 'dead' but client 'ann' 'ill'"),
        ({"types": ("int32", "int32")}, "node bob has rows of types"),
        ({"target": (3,)}, "node bob has rows of target"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_agreed_is_refused_with_the_nodes_name(changes, words):
    with pytest.raises(unalike.DataError, match=words):
        gather_federation({"ann": GOOD, "bob": replace(GOOD, **changes)}, experiment())


@pytest.mark.parametrize(
    "changes",
    [
        {"label_names": ["healthy"]},
        {"label_names": ["healthy", 3]},
        {"label_names": ["healthy", "x" * 201]},
        {"label_names": ["healthy", "\u001b[2J"]},
        {"label_names": ["healthy", "\ud800"]},
        {"label_names": "ab"},
        {"label_names": {"a": 1, "b": 2}},
        {"label_names": [f"{i}" for i in range(200_000)], "classes": 100_000},
        {"columns": ["age"]},
        {"columns": ["age", "x" * 1001]},
        {"columns": [["age"], "weight"]},
        {"columns": ["x" * 900 + str(i) for i in range(2000)], "shape": [2000]},
        {"target_name": 7},
        {"target_name": ""},
        {"target_name": "x" * 2000},
        {"uncut": True, "test": 3},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_names_that_no_honest_node_sends_are_refused(changes):
    with pytest.raises(MessageError):
        NodeRows.read(json.dumps({**json.loads(GOOD.write()), **changes}))


def test_an_introduction_is_read_as_it_was_written():
    assert NodeRows.read(GOOD.write()) == GOOD
    assert NodeRows.read(replace(GOOD, columns=("größe", "Age\n(years)")).write()).columns[0] == "größe"


def test_a_node_refuses_an_agreement_that_does_not_fit_its_rows():
    mine = Federation.from_clients({"ann": (np.zeros((4, 2)), np.array(["a", "b", "a", "b"]))})
    mine = replace(mine, columns=("age", "weight"))
    told = {"test_fraction": 0.25, "validation_fraction": 0.0, "seed": 0}
    good = ClientConfig("run", told, 0, 1, 1.0, 4, 3, (), ("a", "b", "c"), ("weight", "age"))
    assert as_agreed(mine, good, False).classes == 3
    for changes, words in (
        ({"label_names": ("a", "c", "d")}, "labels leave out this node's 'b'"),
        ({"label_names": None}, "labels have names, unlike the request's"),
        ({"columns": ("weight", "height")}, "columns leave out this node's 'age'"),
        ({"columns": ("weight", "age", "height")}, "other columns than this node has"),
        ({"columns": None}, "columns have names, unlike the request's"),
    ):
        with pytest.raises(MessageError, match=words):
            as_agreed(mine, replace(good, **changes), False)


def test_a_cut_that_leaves_nothing_to_train_on_is_refused(folder, tmp_path):
    node = own_node(folder / "bern.csv", tmp_path / "own")
    client_config = ClientConfig(
        "run", {"test_fraction": 1.5}, 0, 1, 1.0, 9, 2, (), ("healthy", "ill"), TABLES["bern"][:2]
    )
    with pytest.raises(unalike.ConfigError, match="test"):
        as_agreed(node.federation, client_config, True)


# Who leaves the cut to the server ---------------------------------------------------------------------------


def test_only_a_file_of_ones_own_is_cut_by_the_server(folder, tmp_path):
    said = {"data": str(folder)}
    assert is_uncut(make_experiment(said), None)
    assert is_uncut(make_experiment({"data": f"folder:{folder}"}), None)
    assert not is_uncut(make_experiment(said), "bern")
    assert not is_uncut(make_experiment({**said, "seed": 1}), None)
    assert not is_uncut(make_experiment({"data": "digits"}), None)
    saved = unalike.load("digits", clients=1, samples=50).save(tmp_path / "saved")
    assert not is_uncut(make_experiment({"data": str(saved)}), None)


def test_nodes_are_numbered_as_files_are_listed(folder):
    told = dict.fromkeys(reversed(list(TABLES)), GOOD)
    assert list(in_order(told)) == [path.stem for path in sorted(folder.iterdir())]
    cut = dict.fromkeys(("node-2", "node-10"), replace(GOOD, uncut=False))
    assert list(in_order(cut)) == ["node-2", "node-10"]
