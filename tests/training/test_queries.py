"""Do clients answer right before they are chosen, is every answer paid for, and does nothing else change?"""

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import (
    Cohort,
    ConfigError,
    FedAvg,
    LocalWork,
    MemoryStream,
    Participation,
    Scaffold,
    Task,
    load,
    models,
    train,
)
from unalike.core.pytrees import nbytes
from unalike.engine.local.engine import LocalEngine
from unalike.participation import CAFed, Full, Intermittent, Markov, Optimal, PowerOfChoice, Trace, Unbiased
from unalike.runs import flatten

CLIENTS = 9
WORK = LocalWork(steps=2, batch_size=8)
PLAIN = FedAvg(work=WORK)


@pytest.fixture(scope="module")
def federation():
    """Nine clients of different sizes and labels."""
    return load("digits", clients=CLIENTS, partition="dirichlet:0.5", samples=360, seed=1)


@pytest.fixture(scope="module")
def task():
    return Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)


@pytest.fixture(scope="module")
def model_bytes(task):
    """64 features and 10 classes, in single precision."""
    return 4 * (64 * 10 + 10)


class Nosy(Participation):
    """Asks some clients before every round, always takes the same cohort, and remembers what it heard."""

    def __init__(self, *questions, cohort=(1, 4, 7)):
        self.asks, self._whom = tuple(question for question, _ in questions), questions
        self._cohort, self.heard, self.norms = np.array(cohort), [], []

    def cohort(self, turn):
        self.heard.append([turn.ask(question, np.array(whom, np.int64)) for question, whom in self._whom])
        return Cohort(self._cohort, np.full(len(self._cohort), 1 / len(self._cohort)))

    def observe(self, round, cohort, reports):
        self.norms.append(reports.get("update_norm"))


def content(tree):
    return {name: array.tobytes() for name, array in flatten(tree).items()}


def naive_losses(task, params, federation, clients):
    return [float(task.losses(params, *map(jnp.asarray, federation.train.client(k))).mean()) for k in clients]


# The answers.


def test_clients_tell_their_mean_training_loss_with_the_model_of_the_round(federation, task):
    """All of them, and a few of them by another way."""
    nosy = Nosy(("loss", range(CLIENTS)), ("loss", [5]), ("loss", [8, 2, 5, 0]))
    run = train(federation, task, PLAIN, rounds=3, participation=nosy, keep_history=True)
    for round, (everyone, one, four) in enumerate(nosy.heard):
        wanted = naive_losses(task, run.history.state(round)["params"], federation, range(CLIENTS))
        assert np.allclose(everyone, wanted, rtol=1e-5)
        assert np.allclose(one, everyone[[5]], rtol=1e-6)
        assert np.allclose(four, everyone[[8, 2, 5, 0]], rtol=1e-6), "answers in the order of the question"


def test_the_loss_of_a_batch_is_that_of_the_rows_with_which_a_client_begins(federation, task):
    """A method whose only step reports its loss has it before the step, on those very rows."""
    nosy = Nosy(("batch_loss", range(CLIENTS)), ("batch_loss", [7, 1]), ("loss", range(CLIENTS)))
    nosy.told = []
    nosy.observe = lambda round, cohort, reports: nosy.told.append(reports["train_loss"])
    one_step = FedAvg(work=LocalWork(steps=1, batch_size=8))
    run = train(federation, task, one_step, rounds=3, participation=nosy)
    for (everyone, two, _), told in zip(nosy.heard, nosy.told, strict=True):
        assert np.allclose(everyone[[1, 4, 7]], told, rtol=1e-5)
        assert np.allclose(two, everyone[[7, 1]], rtol=1e-6)
    assert not np.allclose(nosy.heard[-1][0], nosy.heard[-1][2], rtol=1e-2), "a batch is not all rows"
    assert run.record.groups("asked_loss")[1].tolist() == list(range(CLIENTS))
    assert run.metrics()["bytes_up"][1] == 3 * 4 * 650 + 4 * CLIENTS, "a client that told its loss told it"


def test_a_batch_of_all_rows_has_the_loss_of_all_rows(federation, task):
    nosy = Nosy(("batch_loss", range(CLIENTS)), ("loss", range(CLIENTS)))
    train(federation, task, FedAvg(work=LocalWork(steps=1, batch_size=0)), rounds=2, participation=nosy)
    for batch, whole in nosy.heard:
        assert np.allclose(batch, whole, rtol=1e-5)


def test_batches_are_of_the_rows_that_a_client_holds(federation, task):
    """Of a stream that has brought four rows so far, a batch of eight has these four."""
    nosy = Nosy(("batch_loss", range(CLIENTS)))
    stream = MemoryStream("constant:2", None, "importance")
    run = train(federation, task, PLAIN, rounds=2, participation=nosy, stream=stream, keep_history=True)
    params, stream = run.history.state(1)["params"], MemoryStream("constant:2", None, "importance")
    stream.begin(federation, 0, 2)
    held = stream.select(1, np.arange(CLIENTS))
    x, y = held.read(federation.train)
    assert set(np.diff(held.offsets)) == {4}
    for k, told in enumerate(nosy.heard[1][0]):
        mine = slice(held.offsets[k], held.offsets[k + 1])
        assert told == pytest.approx(float(task.losses(params, x[mine], y[mine]).mean()), rel=1e-5)


def test_clients_tell_how_far_they_would_move_the_model_in_this_very_round(federation, task):
    nosy = Nosy(("update_norm", range(CLIENTS)), ("update_norm", [7, 1]))
    train(federation, task, PLAIN, rounds=3, participation=nosy)
    for (everyone, two), moved in zip(nosy.heard, nosy.norms, strict=True):
        assert np.allclose(everyone[[1, 4, 7]], moved, rtol=1e-6)
        assert np.allclose(two, everyone[[7, 1]], rtol=1e-6)
        assert (everyone > 0).all()


def test_the_debug_engine_hears_the_same_answers(federation, task):
    asked = [(question, [0]) for question in ("loss", "batch_loss", "update_norm")]
    local, debug = (Nosy(*asked, cohort=(0,)) for _ in range(2))
    for nosy, engine in ((local, "local"), (debug, "debug")):
        train(federation, task, PLAIN, rounds=1, participation=nosy, engine=engine, evaluate_clients=1)
    for one, other in zip(local.heard, debug.heard, strict=True):
        for said, expected in zip(one, other, strict=True):
            assert np.allclose(said, expected, rtol=1e-4)


def test_an_unknown_question_is_refused_in_one_sentence(federation, task):
    with pytest.raises(ConfigError, match="unknown question 'losss'; did you mean 'loss'"):
        train(federation, task, PLAIN, rounds=1, participation=Nosy(("losss", [0])))


def test_to_ask_nobody_is_free(federation, task, model_bytes):
    nosy = Nosy(("loss", []))
    run = train(federation, task, PLAIN, rounds=1, participation=nosy)
    assert nosy.heard[0][0].tolist() == []
    assert run.metrics()["bytes_up"][1] == 3 * model_bytes
    assert run.record.groups("asked_loss") == {}


# ClientQueries changes nothing.


@pytest.mark.exact
@pytest.mark.parametrize("question", ["loss", "batch_loss", "update_norm"])
def test_asking_does_not_change_the_model_that_comes_out(federation, task, question):
    asking, silent = Nosy((question, range(CLIENTS))), Nosy()
    one, other = (
        train(federation, task, PLAIN, rounds=4, participation=nosy, seed=3) for nosy in (asking, silent)
    )
    assert content(one.state) == content(other.state)
    assert np.array_equal(one.metrics()["train_loss"][1:], other.metrics()["train_loss"][1:])


@pytest.mark.exact
def test_asking_for_losses_leaves_memories_alone(federation, task):
    one, other = (
        train(federation, task, Scaffold(work=WORK), rounds=3, participation=nosy)
        for nosy in (Nosy(("loss", range(CLIENTS))), Nosy())
    )
    assert content(one.state) == content(other.state)
    assert content(one.memories.tensors()) == content(other.memories.tensors())


def test_asking_for_updates_is_refused_where_clients_remember(federation, task):
    with pytest.raises(ConfigError, match=r"Scaffold's clients remember.*such as md or clustered-size\.$"):
        train(federation, task, Scaffold(work=WORK), rounds=2, participation=Optimal(per_round=2))


def test_an_engine_that_cannot_tell_the_loss_of_a_batch_says_so_first(
    federation, task, monkeypatch, tmp_path
):
    monkeypatch.setattr(LocalEngine, "judges_rows", False)
    with pytest.raises(ConfigError, match="ask for that of all rows, as ca-fed does"):
        train(
            federation, task, PLAIN, rounds=1, participation=Nosy(("batch_loss", [0])), out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_what_is_refused_leaves_no_folder(federation, task, tmp_path):
    with pytest.raises(ConfigError):
        train(
            federation,
            task,
            Scaffold(work=WORK),
            rounds=2,
            participation=Optimal(per_round=2),
            out=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


# Every answer is paid for.


def test_the_model_has_as_many_bytes_as_these_tests_say(federation, task, model_bytes):
    assert nbytes(train(federation, task, PLAIN, rounds=0).message) == model_bytes


def test_optimal_sampling_reaches_everyone_and_a_few_upload(federation, task, model_bytes):
    run = train(federation, task, PLAIN, rounds=5, participation=Optimal(per_round=3))
    used, asked = run.record.groups("used"), run.record.groups("asked_update_norm")
    for round in range(1, 6):
        assert asked[round].tolist() == list(range(CLIENTS))
        metrics = {name: column[round] for name, column in run.metrics().items()}
        assert metrics["asked_update_norm"] == CLIENTS
        assert metrics["bytes_down"] == CLIENTS * model_bytes
        assert metrics["bytes_up"] == len(used[round]) * model_bytes + 4 * CLIENTS
    assert len({len(used[round]) for round in used}) > 1, "coins draw different numbers of clients"


def test_everyone_at_no_price_but_the_model_when_nobody_is_asked(federation, task, model_bytes):
    run = train(federation, task, PLAIN, rounds=2, participation=Full())
    assert (run.metrics()["bytes_up"][1:] == CLIENTS * model_bytes).all()
    assert (run.metrics()["bytes_down"][1:] == CLIENTS * model_bytes).all()


def test_ca_fed_pays_one_number_for_each_client_that_is_there_and_uploads_of_those_it_keeps(
    federation, task, model_bytes
):
    chain = Markov(np.full(CLIENTS, 0.5), np.full(CLIENTS, 0.6))
    run = train(federation, task, PLAIN, rounds=8, participation=Intermittent(chain, CAFed(0.01)))
    metrics, there = run.metrics(), run.record.groups("available")
    used, excluded = run.record.groups("used"), run.record.groups("excluded")
    for round in range(1, 9):
        assert metrics["bytes_up"][round] == 4 * len(there[round]) + model_bytes * len(used[round])
        assert metrics["bytes_down"][round] == model_bytes * len(there[round])
        assert metrics["available"][round] == len(there[round])
        assert sorted(used[round]) == sorted(set(there[round]) - set(excluded[round]))
    assert any(set(there[round]) & set(excluded[round]) for round in used), "nobody was excluded"


def test_power_of_choice_pays_for_its_candidates_in_rounds_by_loss(federation, task, model_bytes):
    run = train(federation, task, PLAIN, rounds=4, participation=PowerOfChoice(5, 4, per_round=2))
    asked = run.record.groups("asked_loss")
    assert set(asked) == {1, 2}
    for round in asked:
        assert len(asked[round]) == 5
        assert run.metrics()["bytes_up"][round] == 2 * model_bytes + 4 * 5
        assert run.metrics()["bytes_down"][round] == 5 * model_bytes, "the chosen ones are candidates"
    assert run.metrics()["bytes_up"][3] == run.metrics()["participants"][3] * model_bytes


def test_a_strategy_and_a_sampler_that_both_ask_are_both_paid_for(federation, task, model_bytes):
    always = Trace(np.ones((1, CLIENTS), bool), after="repeat")
    both = Intermittent(always, CAFed(1e6), PowerOfChoice(3, per_round=1))
    run = train(federation, task, PLAIN, rounds=1, participation=both)
    assert run.record.groups("asked_loss")[1].tolist() == list(range(CLIENTS))
    assert run.metrics()["bytes_down"][1] == CLIENTS * model_bytes
    assert run.metrics()["bytes_up"][1] >= 4 * CLIENTS + model_bytes


def test_a_round_in_which_nobody_is_there_costs_nothing(federation, task):
    trace = Trace(np.array([[True] * CLIENTS, [False] * CLIENTS, [True] * CLIENTS]))
    for strategy in (CAFed(), Unbiased()):
        run = train(
            federation, task, PLAIN, rounds=3, participation=Intermittent(trace, strategy), keep_history=True
        )
        metrics = run.metrics()
        assert metrics["bytes_up"][2] == metrics["bytes_down"][2] == metrics["available"][2] == 0
        assert [(event["round"], event["kind"]) for event in run.events()] == [(2, "empty round")]
        assert content(run.history.state(1)) == content(run.history.state(2))
        assert content(run.history.state(2)) != content(run.history.state(3))


def test_a_round_in_which_all_that_are_there_are_excluded_costs_their_answers(federation, task, model_bytes):
    """Client 0 alone is there; its loss is far above that of the others, who were there before."""

    class FarAbove(CAFed):
        def weights(self, situation):
            weights = super().weights(situation)
            weights[0] = 0.0
            return weights

    trace = np.ones((2, CLIENTS), bool)
    trace[1, 1:] = False
    run = train(federation, task, PLAIN, rounds=2, participation=Intermittent(Trace(trace), FarAbove()))
    assert run.metrics()["bytes_up"][2] == 4
    assert run.metrics()["bytes_down"][2] == model_bytes
    assert run.metrics()["participants"][2] == 0
    assert run.record.groups("used")[2].tolist() == []
