"""Does a node whose rows come and go train on what it holds now, and count for as much?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.data import Federation
from unalike.data.files.growing_folder import GrowingFolder
from unalike.data.streams import MemoryStream, RecordedArrivals
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.client.join_stream import open_stream
from unalike.deploy.client.row_stream import RowStream
from unalike.deploy.protection import Protection
from unalike.deploy.server import introductions, make_folder, train_nodes
from unalike.experiments.build import make_algorithm, make_task

from .in_process_nodes import Village, experiment

FEATURES, CLASSES = 5, 3
NAMES = [f"f{i}" for i in range(FEATURES)]


def some_rows(count, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, FEATURES)).astype(np.float32)
    return x, np.concatenate([np.arange(CLASSES), random.integers(0, CLASSES, count)])[:count]


def write_csv(path, x, y, names=NAMES):
    lines = [",".join([*names, "label"])]
    lines += [
        ",".join([*(repr(float(value)) for value in row), str(label)])
        for row, label in zip(x, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def client(name, x, y):
    made = Federation.from_clients({name: {"train": (x, y), "test": (x[:4], y[:4])}}, classes=CLASSES)
    return replace(made, columns=tuple(NAMES), target="label")


class Streams:
    """A village in which node-0 has a growing folder and the others keep their rows."""

    def __init__(self, folder, memory, first=20, others=(40,)):
        self.folder, self.lines = folder / "arrivals", []
        self.folder.mkdir()
        rows = [some_rows(count, i) for i, count in enumerate((first, *others))]
        self.kept = [client(f"node-{i}", *pair) for i, pair in enumerate(rows)]
        files = GrowingFolder(self.folder, settled=0)
        self.stream = RowStream(self.kept[0], files, memory, log=self.lines.append)
        workers = {
            f"node-{i}": ClientWorker(one, folder / f"node-{i}", stream=None if i else self.stream)
            for i, one in enumerate(self.kept)
        }
        self.village = Village.of(workers)
        self.weights = {}
        self.village.mischief["node-0"] = self._note

    def _note(self, request, answer):
        if request.kind == "train" and "weight/value" in answer.arrays:
            self.weights[request.numbers["round"]] = float(answer.arrays["weight/value"])
        return answer

    def before_round(self, round, act):
        """Do something before node-0 is asked to train in a round (its answers are made one by one)."""
        worker, known = self.village.workers["node-0"], self.village.workers["node-0"].answer

        def answer(request):
            if request.kind == "train" and request.numbers["round"] == round:
                act()
            return known(request)

        worker.answer = answer

    def look_twice(self):
        """As if the node had been asked before: files that are there now are ready at the next look."""
        self.stream._files.look()

    def serve(self, out, streaming=True, protection=Protection(), **values):
        described = experiment(**{"algorithm": "fedavg", "rounds": 3, **values})
        told = introductions(self.village, len(self.kept), 5.0, lambda line: None)
        opened = make_folder(described, out, False)
        return train_nodes(
            described, self.village, told, opened, patience=60.0, streaming=streaming, protection=protection
        )[0]


@pytest.mark.parametrize("work", [{"steps": 2}, {"steps": None, "epochs": 1}], ids=["steps", "epochs"])
def test_a_folder_that_grows_trains_and_weighs_as_a_simulated_stream(tmp_path, work):
    here = Streams(tmp_path, "30")
    more = some_rows(25, 9)

    def grow():
        write_csv(here.folder / "more.csv", *more)
        here.look_twice()

    here.before_round(1, grow)
    there = here.serve(tmp_path / "run", **work)

    first, other = here.kept[0].train, here.kept[1].train
    x, y = np.concatenate([first.x, more[0]]), np.concatenate([first.y, more[1]])
    whole = Federation.from_clients(
        {"a": {"train": (x, y)}, "b": {"train": (other.x, other.y)}}, classes=CLASSES
    )
    sizes = [(0, 0, 20), (1, 0, 25), (2, 0, 0), (0, 1, 40)]
    # Client b keeps all of its 40 rows: its memory is larger than what the rule gives a.
    stream = _Unbounded(RecordedArrivals(sizes), "30", ordered=True)
    described = experiment(**{"algorithm": "fedavg", "rounds": 3, **work})
    alone = unalike.train(
        whole,
        make_task(described, whole),
        make_algorithm(described),
        rounds=3,
        seed=described.seed,
        stream=stream,
    )
    assert largest_difference(alone.state, there.state) < 1e-6
    assert here.weights == {0: pytest.approx(20 / 30), 1: 1.0, 2: 1.0}
    assert "took 25 rows of more.csv" in here.lines


class _Unbounded(MemoryStream):
    """A stream whose second client has room for everything."""

    def begin(self, federation, seed, rounds=None):
        super().begin(federation, seed, rounds)
        self.arrivals.exempt = np.array([False, True])


@pytest.mark.parametrize("memory", ["12", "reservoir:12", "balanced:12", "window:2,100", "freeze:12"])
def test_a_node_keeps_what_a_simulated_client_keeps(tmp_path, memory):
    here = Streams(tmp_path, memory, first=9)
    batches = [some_rows(count, 20 + count) for count in (7, 11, 5)]
    for round, batch in enumerate(batches, 1):
        np.savez(here.folder / f"{round}.npz", x=batch[0], label=batch[1], columns=np.array(NAMES))
    paths = sorted(here.folder.glob("*.npz"))
    hidden = [path.rename(path.with_suffix(".later")) for path in paths]
    x = np.concatenate([here.kept[0].train.x, *(batch[0] for batch in batches)])
    y = np.concatenate([here.kept[0].train.y, *(batch[1] for batch in batches)])
    simulation = MemoryStream(
        RecordedArrivals([(0, 0, 9), (1, 0, 7), (2, 0, 11), (3, 0, 5)]), memory, ordered=True
    )
    whole = Federation.from_clients({"a": {"train": (x, y)}}, classes=CLASSES)
    simulation.begin(whole, 0)
    for round in range(4):
        if round:
            hidden[round - 1].rename(paths[round - 1])
            here.look_twice()
        here.stream.look("run", round)
        held = here.stream.federation().train
        expected = x[simulation.select(round, np.array([0])).rows]
        assert np.array_equal(held.client(0)[0], expected)
        assert len(held.y) == here.stream.capacity


def test_a_file_that_is_being_written_is_not_read(tmp_path):
    here = Streams(tmp_path, "100")
    path, (x, y) = here.folder / "slow.csv", some_rows(10, 3)
    for lines in (4, 8):
        write_csv(path, x[:lines], y[:lines])
        here.stream.look("run", 0)
        assert len(here.stream) == 20
    write_csv(path, x, y)
    here.stream.look("run", 1)
    here.stream.look("run", 1)
    assert len(here.stream) == 30
    here.stream.look("run", 1)
    assert len(here.stream) == 30
    write_csv(here.folder / ".hidden.csv", x, y)
    here.stream.look("run", 1)
    here.stream.look("run", 1)
    assert len(here.stream) == 30


def test_two_looks_must_be_some_time_apart(tmp_path):
    now = [0.0]
    folder = GrowingFolder(tmp_path, settled=1.0, clock=lambda: now[0])
    write_csv(tmp_path / "a.csv", *some_rows(3, 0))
    assert (folder.look(), folder.look()) == ([], [])
    now[0] = 1.0
    assert folder.look() == [tmp_path / "a.csv"]


def test_a_damaged_file_is_skipped_said_once_and_tried_again(tmp_path):
    here = Streams(tmp_path, "100")
    good = tmp_path / "good.npz"
    x, y = some_rows(10, 3)
    np.savez(good, x=x, label=y, columns=np.array(NAMES))
    path = here.folder / "late.npz"
    path.write_bytes(good.read_bytes()[:-50])
    for _ in range(4):
        here.stream.look("run", 0)
    assert len(here.stream) == 20
    assert len([line for line in here.lines if "late.npz cannot be read yet" in line]) == 1
    path.write_bytes(good.read_bytes())
    here.stream.look("run", 1)
    here.stream.look("run", 1)
    assert len(here.stream) == 30


def test_nothing_is_ever_unpickled(tmp_path):
    here = Streams(tmp_path, "100")
    np.savez(here.folder / "evil.npz", x=np.array([{"a": 1}] * 3, object), label=np.arange(3))
    here.stream.look("run", 0)
    here.stream.look("run", 0)
    assert len(here.stream) == 20
    assert "evil.npz cannot be read yet" in here.lines[0]


@pytest.mark.parametrize(
    ("names", "labels", "words"),
    [
        ([*NAMES[:-1], "weight"], [0, 1, 2], "has other columns"),
        (NAMES, [0, 1, 7], "it has the label 7, but there are 3 classes"),
        (NAMES, ["ill", "well", "ill"], "has words as labels"),
        (NAMES, [0.5, 1.5, 2.5], "fractions"),
    ],
    ids=["columns", "classes", "words", "fractions"],
)
def test_a_file_that_means_something_else_is_refused_by_name(tmp_path, names, labels, words):
    here = Streams(tmp_path, "100")
    write_csv(here.folder / "other.csv", some_rows(3, 4)[0], labels, names)
    for _ in range(3):
        here.stream.look("run", 0)
    (line,) = here.lines
    assert line.startswith("other.csv is refused")
    assert words in line
    write_csv(here.folder / "fine.csv", some_rows(3, 4)[0][:, ::-1], [0, 1, 2], NAMES[::-1])
    here.stream.look("run", 0)
    here.stream.look("run", 0)
    assert len(here.stream) == 23
    assert np.allclose(here.stream.federation().train.x[20:23], some_rows(3, 4)[0])


@pytest.mark.parametrize("values", [{}, {"algorithm": "fedem", "options": {"components": 2}}], ids=str)
def test_a_node_that_holds_nothing_is_left_out_and_named(tmp_path, values):
    here = Streams(tmp_path, "replace:30")
    run = here.serve(tmp_path / "run", rounds=2, **values)
    assert run.metrics()["participants"][1:].tolist() == [2, 1]
    (event,) = [event for event in run.events() if event["kind"] == "refused errand"]
    assert (event["name"], event["reason"]) == ("node-0", "this node holds no rows now.")


def test_plans_and_rows_have_one_shape_however_many_rows_are_held(tmp_path):
    here = Streams(tmp_path, "100")
    run = here.serve(tmp_path / "run", rounds=1, steps=None, epochs=1)
    session = here.village.workers["node-0"]._open_session[1]
    shapes, held = set(), []
    for round in range(3):
        held.append(len(here.stream))
        work, me = session.setting.algorithm.work, np.array([0])
        plan, _, placed = session.engine.plan(work, round, me, run.memories)
        shapes.add((plan.positions.shape, placed.x.shape))
        write_csv(here.folder / f"{round}.csv", *some_rows(30, round))
        here.look_twice()
        here.stream.look("another", round)
        session.hold(here.stream.federation())
    assert held == [20, 50, 80]
    assert len(shapes) == 1


def test_the_server_says_that_rows_come_and_go_and_takes_no_weight_unasked(tmp_path):
    here = Streams(tmp_path, "30")
    with pytest.raises(unalike.ConfigError, match="node node-0 has rows that come and go"):
        here.serve(tmp_path / "refused", streaming=False)
    run = here.serve(tmp_path / "run", rounds=1)
    (event,) = [event for event in run.events() if event["kind"] == "streaming node"]
    assert (event["name"], event["reason"]) == ("node-0", "node-0 has room for 30 rows that come and go")


@pytest.mark.parametrize("lie", [2.0, 0.0, float("nan"), [1.0, 1.0], None])
def test_a_weight_that_cannot_be_is_a_bad_upload(tmp_path, lie):
    here = Streams(tmp_path, "30")

    def mischief(request, answer):
        if request.kind != "train":
            return answer
        others = {name: array for name, array in answer.arrays.items() if name != "weight/value"}
        return replace(
            answer, arrays=others if lie is None else {**others, "weight/value": np.array(lie, np.float32)}
        )

    here.village.mischief["node-0"] = mischief
    run = here.serve(tmp_path / "run", rounds=1)
    (event,) = [event for event in run.events() if event["kind"] == "bad upload"]
    assert event["name"] == "node-0"
    assert "of them" in event["reason"]


@pytest.mark.parametrize("protection", [Protection(secure=True), Protection(central="1,0.8")], ids=str)
def test_where_weights_are_fixed_beforehand_streams_are_refused(tmp_path, protection):
    here = Streams(tmp_path, "30", others=(40, 40, 40))
    with pytest.raises(unalike.ConfigError, match="fixes weights before clients answer"):
        here.serve(tmp_path / "run", protection=protection)


def test_streams_are_weighed_by_rows_only(tmp_path):
    with pytest.raises(unalike.ConfigError, match="weighs nodes by the rows that they hold"):
        Streams(tmp_path, "30").serve(tmp_path / "run", importance="equal")


def test_nodes_that_keep_their_rows_say_and_send_what_they_did(tmp_path):
    here = Streams(tmp_path, "30")
    answers = []
    here.village.mischief["node-1"] = lambda request, answer: answers.append(answer) or answer
    here.serve(tmp_path / "run", rounds=1)
    introduction, *others = answers
    assert "streaming" not in introduction.numbers["rows"]
    assert not any(any(name.startswith("weight") for name in answer.arrays) for answer in others)


@pytest.mark.parametrize("words", ["fifo", "window:5", "replace"])
def test_a_memory_without_a_bound_is_refused(tmp_path, words):
    with pytest.raises(unalike.ConfigError, match="for how many rows it has room"):
        Streams(tmp_path, words)


# How a node begins ------------------------------------------------------------------------------------------


def begin(folder, first=None, looks=5, **values):
    """Open a stream; somebody stops the node after so many looks."""
    lines, left = [], iter([False] * looks)
    described = experiment(**values)
    opened = open_stream(folder, "50", described, first, lines.append, lambda seconds: next(left, True))
    return opened, lines


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(GrowingFolder.__init__, "__defaults__", (0.0, GrowingFolder.__init__.__defaults__[1]))


def test_without_data_the_first_file_says_what_columns_and_labels_are(tmp_path, at_once):
    write_csv(tmp_path / "a.csv", *some_rows(10, 0))
    (first, stream), lines = begin(tmp_path)
    assert (first.columns, first.target, first.classes) == (tuple(NAMES), "label", CLASSES)
    assert (len(stream), len(first.test.y)) == (8, 2)
    assert "waiting for rows" in lines[0]
    for round in range(3):
        stream.look("run", round)
    assert len(stream) == 8  # the first file is not taken twice


def test_a_node_without_a_file_waits_until_it_is_stopped(tmp_path, at_once):
    (tmp_path / "a.csv").write_text("f0,label\n")
    opened, lines = begin(tmp_path)
    assert opened is None
    assert len(lines) == 2
    assert "a.csv cannot be read yet" in lines[1]


def test_with_data_the_folder_may_be_empty(tmp_path, at_once):
    (_, stream), lines = begin(tmp_path, client("a", *some_rows(10, 0)))
    assert (len(stream), lines) == (10, [])


def test_time_never_turns_back_and_goes_on_from_run_to_run(tmp_path):
    here = Streams(tmp_path, "window:2,100", first=6)
    for run, round, held in [("a", 7, 6), ("a", 8, 6), ("a", 9, 0), ("a", 7, 0), ("b", 0, 0)]:
        here.stream.look(run, round)
        assert len(here.stream) == held
