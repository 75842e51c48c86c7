"""Does the one loop train what it is given, and only that?

The same seed gives the same bytes, cores do not matter, odd clients are fine, broken ones are named, and
what goes wrong in a round is written down while training goes on.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike import (
    Cohort,
    ConfigError,
    DataError,
    FedAvg,
    Federation,
    LocalWork,
    Optimizer,
    Participation,
    Reply,
    Scaffold,
    Task,
    UnalikeError,
    models,
    train,
)
from unalike.core.pytrees import largest_difference
from unalike.runs import flatten

CLASSES, FEATURES = 3, 4
ONCE = LocalWork(epochs=1, batch_size=4)
PLAIN = FedAvg(work=ONCE)


def client(seed, rows, labels=range(CLASSES)):
    """Rows whose features say what the label is, with noise."""
    rng = np.random.default_rng(seed)
    y = np.resize(np.array(list(labels)), rows)
    return (np.eye(CLASSES, FEATURES)[y] + rng.normal(0, 0.3, (rows, FEATURES))).astype(np.float32), y


def federation_of(clients, **options):
    return Federation.from_clients(clients, classes=CLASSES, **options)


@pytest.fixture(scope="module")
def federation():
    """Five clients of different sizes and labels."""
    return federation_of({f"c{i}": client(i, 6 + 3 * i, range(i % 2, CLASSES)) for i in range(5)})


@pytest.fixture(scope="module")
def task():
    return Task.classification(models.linear(input_shape=(FEATURES,), outputs=CLASSES), classes=CLASSES)


def content(tree):
    """The bytes of every leaf, by name."""
    return {name: array.tobytes() for name, array in flatten(tree).items()}


def accuracy(run):
    return run.metrics()["test_accuracy"]


# Seeds and cores.


@pytest.mark.exact
def test_the_same_seed_gives_the_same_bytes_and_the_same_record(federation, task):
    first, second = (train(federation, task, PLAIN, rounds=4, per_round=2, seed=7) for _ in range(2))
    assert content(first.state) == content(second.state)
    assert first.events() == second.events()
    for name, column in first.metrics().items():
        np.testing.assert_array_equal(column, second.metrics()[name])


def test_another_seed_gives_another_model(federation, task):
    first, second = (train(federation, task, PLAIN, rounds=4, per_round=2, seed=s) for s in (7, 8))
    assert content(first.state) != content(second.state)


@pytest.mark.skipif(len(jax.devices()) < 2, reason="this machine has one core")
def test_one_and_two_cores_give_the_same_model(federation, task):
    one, two = (
        train(federation, task, Scaffold(work=ONCE), rounds=5, per_round=3, devices=devices)
        for devices in (1, 2)
    )
    assert largest_difference(one.state, two.state) <= 1e-5
    for name, column in one.metrics().items():
        np.testing.assert_allclose(column, two.metrics()[name], rtol=1e-4, atol=1e-5)


@pytest.mark.exact
def test_looking_at_a_run_does_not_change_it(federation, task):
    """How often a run evaluates, and on whom, has no influence on the bytes of the model, though rounds that
    nobody looks at between go to the engine several at a time, which is another program."""
    often = train(federation, task, PLAIN, rounds=5, per_round=2, evaluate_every=1)
    seldom = train(federation, task, PLAIN, rounds=5, per_round=2, evaluate_every=0, evaluate_clients=2)
    assert content(often.state) == content(seldom.state)
    assert accuracy(often)[-1] == pytest.approx(often.final()["test_accuracy"])
    assert len(seldom.client_metrics()["client"]) == 2


def test_training_learns_something(federation, task):
    run = train(federation, task, PLAIN, rounds=30)
    assert accuracy(run)[-1] > 0.8
    assert run.rounds == 30


# Where it starts, and how long it goes on.


def test_no_rounds_leave_the_starting_model(federation, task):
    run = train(federation, task, PLAIN, rounds=0, seed=3)
    assert run.rounds == 0
    assert run.metrics()["round"].tolist() == [0]
    assert content(run.message) == content(jax.tree.map(jnp.zeros_like, run.message))
    assert np.isfinite(run.final()["test_loss"])


@pytest.mark.exact
def test_no_rounds_in_a_folder_leave_a_model_and_can_be_resumed(federation, task, tmp_path):
    run = train(federation, task, PLAIN, rounds=0, out=tmp_path / "run")
    assert run.folder.finished
    assert (tmp_path / "run" / "model.safetensors").exists()
    again = train(federation, task, PLAIN, rounds=2, out=run.folder, resume=True)
    assert content(again.state) == content(train(federation, task, PLAIN, rounds=2).state)


@pytest.mark.parametrize(
    "options", [{"rounds": -1}, {"rounds": 1, "per_round": 6}, {"rounds": 1, "devices": 99}]
)
def test_impossible_numbers_are_refused_and_leave_no_folder(federation, task, tmp_path, options):
    with pytest.raises(ConfigError):
        train(federation, task, PLAIN, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_zero_learning_rate_changes_nothing(federation, task):
    still = FedAvg(work=ONCE, optimizer=Optimizer("sgd", 0.0))
    run = train(federation, task, still, rounds=2)
    assert largest_difference(run.message, train(federation, task, still, rounds=0).message) == 0


# Odd clients.


def test_clients_without_test_rows_train_and_do_not_count_in_the_mean(task):
    x, y = client(0, 8)
    clients = {
        "tested": {"train": (x, y), "test": client(1, 5)},
        "untested": {"train": client(2, 8)},
    }
    run = train(federation_of(clients), task, PLAIN, rounds=2)
    tested = run.client_metrics()
    assert tested["test_samples"].tolist() == [5, 0]
    assert accuracy(run)[-1] == pytest.approx(tested["test_accuracy"][0])


@pytest.mark.parametrize("scale", [1e12, 1e38])
def test_what_one_client_measures_does_not_depend_on_the_others(task, scale):
    """One client's test rows are wild enough to make its loss huge, or not a number."""
    x, y = client(1, 5)
    clients = {
        "wild": {"train": client(0, 8), "test": (-x * np.float32(scale), y)},
        "tame": {"train": client(2, 8), "test": client(3, 5)},
    }
    run = train(federation_of(clients), task, PLAIN, rounds=2)
    tame = task.losses(run.message, *map(jnp.asarray, client(3, 5))).mean()
    assert run.client_metrics()["test_loss"][1] == pytest.approx(float(tame), rel=1e-5)


def test_a_federation_without_any_test_rows_trains(task):
    run = train(
        federation_of({"a": client(0, 5), "b": client(1, 5)}, test_fraction=0.0), task, PLAIN, rounds=2
    )
    assert run.rounds == 2
    assert "test_accuracy" not in run.metrics()
    assert np.isfinite(run.metrics()["train_loss"][-1])


def test_clients_with_one_row_train(task):
    clients = {"one": client(0, 1), "also one": client(1, 1, [2]), "many": client(2, 12)}
    run = train(federation_of(clients), task, PLAIN, rounds=3)
    assert run.setting.federation.train.sizes.tolist()[:2] == [1, 1]
    assert np.isfinite(run.metrics()["train_loss"][1:]).all()
    assert [event["kind"] for event in run.events()] == ["uploads of single rows"]


def test_a_client_that_misses_classes_trains_and_leaves_their_weights_below_the_others(task):
    run = train(federation_of({"only 0": client(0, 9, [0])}), task, PLAIN, rounds=5)
    bias = np.asarray(run.message["b"])
    assert bias[0] > 0 > bias[1:].max()


def test_a_batch_larger_than_the_client_is_all_its_rows(federation, task):
    huge, whole = (
        train(federation, task, FedAvg(work=LocalWork(steps=2, batch_size=size)), rounds=2)
        for size in (10**6, 0)
    )
    assert largest_difference(huge.message, whole.message) <= 1e-6


def test_clients_of_very_different_sizes_train_together(task):
    run = train(federation_of({"big": client(0, 400), "small": client(1, 1)}), task, PLAIN, rounds=2)
    assert run.metrics()["participants"][-1] == 2
    assert np.isfinite(run.metrics()["test_loss"][-1])


def test_missing_features_are_refused_with_the_name_of_the_client():
    broken = client(1, 8)
    broken[0][3, 2] = np.nan
    with pytest.raises(DataError, match=r"client 'clinic 7' has a missing or infinite feature"):
        federation_of({"fine": client(0, 8), "clinic 7": broken})


@pytest.mark.parametrize("label", [-1, CLASSES])
def test_labels_out_of_range_are_refused_with_the_name_of_the_client(label):
    x, y = client(1, 8)
    with pytest.raises(DataError, match=rf"client 'clinic 7' has label {label}"):
        federation_of({"fine": client(0, 8), "clinic 7": (x, np.where(np.arange(8) == 2, label, y))})


# Who takes part.


@dataclass(frozen=True)
class SometimesNobody(Participation):
    """Nobody in odd rounds, everyone otherwise."""

    def cohort(self, turn):
        clients = np.arange(0 if turn.number % 2 else len(turn.importance))
        return Cohort(clients, turn.importance[clients])


def test_an_empty_round_is_written_down_and_changes_nothing(federation, task):
    run = train(federation, task, PLAIN, rounds=4, participation=SometimesNobody(), keep_history=True)
    assert [(e["round"], e["kind"]) for e in run.events()] == [(2, "empty round"), (4, "empty round")]
    assert content(run.history.state(1)) == content(run.history.state(2))
    assert content(run.history.state(2)) != content(run.history.state(3))
    assert run.metrics()["participants"].tolist()[1:] == [5, 0, 5, 0]


class NobodyEver(Participation):
    """An empty cohort in every round."""

    def cohort(self, turn):
        return Cohort(np.zeros(0, np.int64), np.zeros(0))


def test_a_run_in_which_nobody_ever_takes_part_keeps_its_model(federation, task):
    run = train(federation, task, Scaffold(work=ONCE), rounds=2, participation=NobodyEver())
    assert content(run.state) == content(train(federation, task, Scaffold(work=ONCE), rounds=0).state)
    assert len(run.events()) == 2


class Given(Participation):
    """A cohort that a careless user might return."""

    def __init__(self, clients, weights):
        self.given = Cohort(np.array(clients), np.array(weights, float))

    def cohort(self, turn):
        return self.given


@pytest.mark.parametrize(
    ("clients", "weights"),
    [([0, 9], [0.5, 0.5]), ([-1, 0], [0.5, 0.5]), ([1, 1], [0.5, 0.5]), ([0, 1], [1.0]), ([0], [np.nan])],
    ids=[
        "no such client",
        "a negative number",
        "twice the same",
        "too few weights",
        "a weight that is no number",
    ],
)
def test_an_impossible_cohort_is_refused_in_one_sentence(federation, task, clients, weights):
    with pytest.raises(UnalikeError) as error:
        train(federation, task, PLAIN, rounds=1, participation=Given(clients, weights))
    assert "\n" not in str(error.value)


class PrefersHighLoss(Participation):
    """Two clients, drawn the more often the larger the last training loss they reported."""

    def __init__(self, clients):
        self.losses = np.full(clients, 10.0)

    def cohort(self, turn):
        chances = self.losses / self.losses.sum()
        chosen = np.sort(turn.rng.choice(len(turn.importance), 2, replace=False, p=chances))
        return Cohort(chosen, np.full(2, 0.5))

    def observe(self, round, cohort, reports):
        self.losses[cohort.clients] = reports["train_loss"]

    def state(self):
        return {"losses": self.losses}

    def restore(self, state):
        self.losses = np.array(state["losses"])


class StoppedError(Exception):
    """The machine went away."""


def stop_after(round):
    def observer(report, _):
        if report.round == round:
            raise StoppedError

    return observer


@pytest.mark.exact
@pytest.mark.parametrize("after", [1, 4, 6])
def test_a_participation_that_learns_survives_resuming(federation, task, tmp_path, after):
    def start(**options):
        return train(
            federation, task, PLAIN, rounds=8, checkpoint_every=2, participation=PrefersHighLoss(5), **options
        )

    whole = start()
    with pytest.raises(StoppedError):
        start(out=tmp_path / "run", observer=stop_after(after))
    resumed = start(out=tmp_path / "run", resume=True)
    assert content(resumed.state) == content(whole.state)
    for name, column in whole.metrics().items():
        np.testing.assert_array_equal(column, resumed.metrics()[name])


# Uploads that are not numbers.


@dataclass(frozen=True, kw_only=True)
class Fragile(FedAvg):
    """FedAvg with uploads that are NaN from clients of exactly `broken` rows, in rounds before `until`."""

    broken: int = 0
    until: int = 10**6
    name: ClassVar[str] = "fragile"

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        bad = (data.size == self.broken) & (data.round < self.until)
        spoilt = jax.tree.map(lambda leaf: jnp.where(bad, jnp.nan, leaf), reply.upload)
        return Reply(spoilt, reply.memory, reply.report)


def sizes_of(federation):
    return federation.train.sizes.tolist()


@pytest.mark.parametrize("engine", ["local", "debug"])
@pytest.mark.filterwarnings("ignore:round")
def test_an_upload_that_is_not_finite_is_left_out_and_written_down(federation, task, engine):
    small, broken = federation.subset([0, 1]), sizes_of(federation)[1]
    run = train(small, task, Fragile(work=ONCE, broken=broken), rounds=2, engine=engine)
    assert [(e["round"], e["kind"], e["client"], e["name"]) for e in run.events()] == [
        (1, "rejected upload", 1, "c1"),
        (2, "rejected upload", 1, "c1"),
    ]
    assert run.metrics()["rejected"].tolist()[1:] == [1, 1]
    assert np.isfinite(run.metrics()["train_loss"][1:]).all()
    assert accuracy(run)[-1] > 0


class AllBut(Participation):
    """Everyone but one client, weighted by importance."""

    def __init__(self, absent):
        self.absent = absent

    def cohort(self, turn):
        clients = np.delete(turn.clients, self.absent)
        return Cohort(clients, turn.importance[clients] / turn.importance[clients].sum())


def test_the_others_are_as_if_the_rejected_client_had_not_taken_part(federation, task):
    broken = train(federation, task, Fragile(work=ONCE, broken=sizes_of(federation)[2]), rounds=3)
    absent = train(federation, task, PLAIN, rounds=3, participation=AllBut(2))
    assert largest_difference(broken.state, absent.state) <= 1e-6


def test_when_every_upload_is_rejected_the_model_stays(task):
    alike = federation_of({name: client(i, 8) for i, name in enumerate("abc")}, test_fraction=0.0)
    run = train(alike, task, Fragile(work=ONCE, broken=8), rounds=2)
    assert largest_difference(run.message, train(alike, task, PLAIN, rounds=0).message) == 0
    kinds = [event["kind"] for event in run.events()]
    assert kinds.count("rejected upload") == 6
    assert "nothing trained" in kinds


@dataclass(frozen=True, kw_only=True)
class Counting(Fragile):
    """Every client counts its accepted rounds from a hundred on."""

    name: ClassVar[str] = "counting"

    def init_client(self, task, message, key):
        return {"count": jnp.asarray(100.0)}

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        return Reply(reply.upload, {"count": memory["count"] + 1}, {"count": memory["count"]})


@pytest.mark.parametrize("engine", ["local", "debug"])
@pytest.mark.filterwarnings("ignore:round")
def test_a_client_that_is_rejected_the_first_time_begins_afresh_the_next_time(federation, task, engine):
    small, broken = federation.subset([0, 1]), sizes_of(federation)[1]
    run = train(small, task, Counting(work=ONCE, broken=broken, until=1), rounds=3, engine=engine)
    memories, _ = run.memories.gather(np.arange(2))
    assert np.asarray(memories["count"]).tolist() == [103, 102]


def test_a_client_that_raises_is_named_by_the_debug_engine(federation, task):
    @dataclass(frozen=True, kw_only=True)
    class Raising(FedAvg):
        def client(self, task, message, memory, data, key):
            if not isinstance(data.size, jax.core.Tracer) and int(data.size) == sizes_of(federation)[2]:
                raise ValueError("out of battery")
            return super().client(task, message, memory, data, key)

    with pytest.raises(UnalikeError, match=r"c2.*out of battery"):
        train(federation, task, Raising(work=ONCE), rounds=1, engine="debug")
