"""Is a compiled round the sum of its parts, also when some of them are bad, old, or mixed by a matrix?

A toy algorithm hands everything that the server is told back in its state; NumPy says what that should be.
"""

from dataclasses import dataclass
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import Task
from unalike.aggregation.tally import mix_by_matrix
from unalike.algorithms import FedAvg, LocalWork, Needs, Optimizer, Reply, Scaffold
from unalike.engine import DebugEngine, LocalEngine, Setting
from unalike.participation import Cohort
from unalike.timing import Step, Timing

from .. import toys

SIZES = [3, 6, 2, 4, 5]
WEIGHTS = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
ENGINES = {"local": LocalEngine, "debug": DebugEngine}
pytestmark = pytest.mark.filterwarnings("ignore:.*left out")


@pytest.fixture(scope="module", params=ENGINES)
def bench(request):
    """An engine over five toy clients; clients 1 and 3 send NaN in round 1."""
    federation = toys.toy_federation(SIZES, [-1, 1, -1, 1, -1])
    setting = Setting(federation, toys.logistic_task(), toys.Toy(), 0)
    return ENGINES[request.param](setting), setting


def everyone(number, weights=WEIGHTS):
    return toys.step(number, np.arange(5), weights)


def test_good_uploads_are_summed_with_their_weights(bench):
    engine, setting = bench
    state, memories, message = toys.start(setting)
    (_, after), (report,) = toys.advance(engine, setting, [everyone(0)], state, memories)
    values = toys.values_of(setting.federation)
    told = after["told"]
    assert np.allclose(told["total"], np.asarray(message) + WEIGHTS @ values, atol=1e-6)
    assert np.allclose(told["start"], message, atol=1e-6)
    assert (told["count"], told["round"]) == (5, 0)
    assert told["weight"] == pytest.approx(1.0)
    assert told["share"] == pytest.approx(1.0)
    assert np.allclose(report["value"], values, atol=1e-6)
    assert report["accepted"].tolist() == [1] * 5


def test_weights_need_not_sum_to_one_and_share_is_the_cohorts_importance(bench):
    engine, setting = bench
    state, memories, message = toys.start(setting)
    one = toys.step(0, [4, 1], [0.7, 0.9])
    (_, after), _ = toys.advance(engine, setting, [one], state, memories)
    values = toys.values_of(setting.federation)
    told = after["told"]
    assert np.allclose(
        told["total"], 1.6 * np.asarray(message) + 0.7 * values[4] + 0.9 * values[1], atol=1e-6
    )
    assert np.allclose(told["start"], 1.6 * np.asarray(message), atol=1e-6)
    assert told["weight"] == pytest.approx(1.6)
    assert told["share"] == pytest.approx(11 / 20)


def test_reports_come_back_in_the_order_of_the_cohort(bench):
    engine, setting = bench
    state, memories, _ = toys.start(setting)
    _, (report,) = toys.advance(engine, setting, [toys.step(0, [3, 0, 4], [1, 1, 1])], state, memories)
    assert np.allclose(report["value"], toys.values_of(setting.federation)[[3, 0, 4]], atol=1e-6)


def test_a_bad_upload_is_left_out_and_the_others_keep_the_total_weight(bench):
    engine, setting = bench
    state, memories, message = toys.start(setting)
    one = toys.step(1, np.arange(5), WEIGHTS, np.zeros(5, int))
    (_, after), (report,) = toys.advance(engine, setting, [one], state, memories)
    good = np.array([1, 0, 1, 0, 1])
    kept = WEIGHTS * good
    kept = kept * WEIGHTS.sum() / kept.sum()
    told = after["told"]
    assert np.allclose(
        told["total"], np.asarray(message) + kept @ toys.values_of(setting.federation), atol=1e-6
    )
    assert np.allclose(told["start"], message, atol=1e-6)
    assert told["count"] == 3
    assert told["weight"] == pytest.approx(1.0)
    assert report["accepted"].tolist() == good.tolist()


def test_a_rejected_clients_memory_is_unchanged(bench):
    engine, setting = bench
    state, memories, _ = toys.start(setting)
    toys.advance(engine, setting, [everyone(0), everyone(1)], state, memories)
    found, fresh = memories.gather(np.arange(5))
    assert not fresh.any()
    assert found["count"][:, 0].tolist() == [12, 11, 12, 11, 12]


def test_a_client_rejected_on_its_first_visit_still_begins_with_a_first_memory(bench):
    engine, setting = bench
    state, memories, _ = toys.start(setting)
    steps = [toys.step(1, np.arange(5), WEIGHTS, np.zeros(5, int)), toys.step(2, [1, 3], [0.5, 0.5], [1, 1])]
    toys.advance(engine, setting, steps, state, memories)
    found, _ = memories.gather(np.array([1, 3]))
    # init_client says 10, and there was one accepted visit.
    assert found["count"][:, 0].tolist() == [11, 11]


def test_when_all_uploads_are_bad_nothing_is_added(bench):
    engine, setting = bench
    state, memories, _ = toys.start(setting)
    one = toys.step(1, [3, 1], [0.4, 0.6], [0, 0])
    (before, after), (report,) = toys.advance(engine, setting, [one], state, memories)
    assert report["accepted"].tolist() == [0, 0]
    assert np.array_equal(after["params"], before["params"])


class Stale(Timing):
    """Client c reports every step with a result that is c steps old."""

    def steps(self, draw, first):
        for number in count(first):
            clients, weights, _ = draw(number)
            versions = np.maximum(number - clients, 0)
            yield Step(number, clients, versions, weights, float(number))


def test_clients_that_start_from_older_versions_are_summed_with_what_they_started_from(bench):
    engine, setting = bench
    state, memories, _ = toys.start(setting)
    weights = np.array([0.5, 0.3, 0.4])
    clients = np.array([0, 2, 4])
    draw = lambda number: Cohort(clients, weights)  # noqa: E731
    steps = [step for step, _ in zip(Stale().steps(draw, 0), range(4), strict=False)]
    states, _ = toys.advance(engine, setting, steps, state, memories)
    values = toys.values_of(setting.federation)[clients]
    params = [np.asarray(state["params"], np.float64)]
    for number in range(4):
        begun = [params[max(number - c, 0)] for c in clients]
        start = sum(w * b for w, b in zip(weights, begun, strict=True))
        total = sum(w * (b + v) for w, b, v in zip(weights, begun, values, strict=True))
        params.append(params[-1] + total - start)
        assert np.allclose(states[number + 1]["told"]["start"], start, atol=1e-5)
        assert np.allclose(states[number + 1]["told"]["total"], total, atol=1e-5)
        assert np.allclose(states[number + 1]["params"], params[-1], atol=1e-5)


def test_what_a_rejected_client_started_from_does_not_count_either(bench):
    engine, setting = bench
    state, memories, _ = toys.start(setting)
    stale = toys.step(1, [0, 1, 2], [0.2, 0.5, 0.3], [1, 0, 0])
    states, _ = toys.advance(engine, setting, [toys.step(0, [0], [1.0]), stale], state, memories)
    newest, oldest = states[1]["params"], states[0]["params"]
    kept = np.array([0.2, 0.3]) / 0.5
    assert np.allclose(states[2]["told"]["start"], kept[0] * newest + kept[1] * oldest, atol=1e-6)


@dataclass(frozen=True, kw_only=True)
class Gossip(toys.Toy):
    """Every client has a model of its own."""

    decentralized = True

    def init(self, task, key):
        return {"params": jnp.arange(10.0).reshape(5, 2)}

    def aggregate(self, task, state, mixed):
        assert mixed.start is None
        return {"params": mixed.total}


@pytest.mark.parametrize("engine_name", ENGINES)
def test_with_a_mixing_matrix_the_new_models_are_the_matrix_times_the_uploads(engine_name):
    federation = toys.toy_federation(SIZES, [-1, 1, -1, -1, -1])
    setting = Setting(federation, toys.logistic_task(), Gossip(), 0)
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(5), 5)
    state, memories, _ = toys.start(setting)
    engine = ENGINES[engine_name](setting)
    states, _ = toys.advance(engine, setting, [everyone(0, matrix), everyone(1, matrix)], state, memories)
    values = toys.values_of(federation)[:, None]
    first = matrix @ (np.asarray(state["params"]) + values)
    assert np.allclose(states[1]["params"], first, atol=1e-5)
    # In round 1 client 1 is left out, and every row keeps its sum.
    kept = matrix * [1, 0, 1, 1, 1]
    kept /= kept.sum(1, keepdims=True)
    assert np.allclose(states[2]["params"], kept @ (first + values), atol=1e-5)


@dataclass(frozen=True, kw_only=True)
class Median(toys.Toy):
    """The server takes the median of the uploads, and shows them all."""

    needs = Needs(uploads=True)

    def init(self, task, key):
        return {"params": jnp.arange(2.0), "uploads": jnp.zeros((3, 2))}

    def aggregate(self, task, state, mixed):
        return {"params": jnp.median(mixed.uploads, axis=0), "uploads": mixed.uploads}


@pytest.mark.parametrize("engine_name", ENGINES)
def test_kept_uploads_are_those_of_the_cohort_in_its_order_and_no_others(engine_name):
    federation = toys.toy_federation(SIZES)
    federation.train.x[:, 0] += 10.0
    setting = Setting(federation, toys.logistic_task(), Median(), 0)
    state, memories, message = toys.start(setting)
    engine = ENGINES[engine_name](setting)
    (_, after), _ = toys.advance(engine, setting, [toys.step(0, [4, 0, 3], [1, 1, 1])], state, memories)
    expected = np.asarray(message) + toys.values_of(federation)[[4, 0, 3], None]
    assert after["uploads"].shape == expected.shape
    assert np.allclose(after["uploads"], expected, atol=1e-5)
    assert np.allclose(after["params"], np.median(expected, 0), atol=1e-5)


@dataclass(frozen=True, kw_only=True)
class Failing(FedAvg):
    """FedAvg whose clients send NaN from round 1 on."""

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        return Reply(jax.tree.map(lambda u: jnp.where(data.round > 0, jnp.nan, u), reply.upload))


@pytest.mark.parametrize("name", ["sgd", "momentum"])
def test_a_round_in_which_everything_was_rejected_leaves_the_state_as_it_was(name):
    server = Optimizer.of("sgd", 1.0, {"momentum": 0.9} if name == "momentum" else None)
    algorithm = Failing(work=LocalWork(steps=2, batch_size=2), server_optimizer=server)
    setting = Setting(toys.federation([3, 4]), toys.logistic_task(), algorithm, 0)
    state, memories, _ = toys.start(setting)
    steps = [toys.step(number, [0, 1], [0.5, 0.5]) for number in range(2)]
    states, (_, report) = toys.advance(LocalEngine(setting), setting, steps, state, memories)
    assert report["accepted"].tolist() == [0, 0]
    for before, after in zip(jax.tree.leaves(states[1]), jax.tree.leaves(states[2]), strict=True):
        assert np.array_equal(before, after)


def test_mixing_is_a_matrix_product_that_keeps_the_sum_of_every_row():
    rng = np.random.default_rng(0)
    matrix, uploads = rng.normal(size=(3, 4)), {"u": rng.normal(size=(4, 2, 5)), "v": rng.normal(size=4)}
    mixed = mix_by_matrix(jnp.asarray(matrix), uploads, jnp.ones(4))
    assert np.allclose(mixed["u"], np.einsum("ij,jkl->ikl", matrix, uploads["u"]), atol=1e-5)
    assert np.allclose(mixed["v"], matrix @ uploads["v"], atol=1e-5)
    positive, good = np.abs(matrix), np.array([1.0, 0.0, 1.0, 1.0])
    kept = positive * good
    kept *= (positive.sum(1) / kept.sum(1))[:, None]
    assert np.allclose(
        mix_by_matrix(jnp.asarray(positive), uploads, good)["v"], kept @ uploads["v"], atol=1e-5
    )
    constant = mix_by_matrix(jnp.asarray(positive), {"c": np.ones(4)}, good)["c"]
    assert np.allclose(constant, positive.sum(1), atol=1e-5)


@pytest.mark.parametrize("base", [FedAvg, Scaffold])
def test_a_client_is_traced_twice_in_a_whole_run_and_not_again_in_the_next(base):
    """For the shapes of its reply, and for the program: a first round whose state lay elsewhere than that of
    the later ones would be traced and compiled again."""
    traced = []

    @dataclass(frozen=True, kw_only=True)
    class Counted(base):
        def client(self, task, message, memory, data, key):
            traced.append(1)
            return super().client(task, message, memory, data, key)

    federation = unalike.load("digits", clients=6, samples=200)
    model = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
    algorithm = Counted(work=LocalWork(steps=2, batch_size=4))
    task = Task.classification(model, 10)
    for seed in range(2):
        unalike.train(federation, task, algorithm, rounds=7, seed=seed)
        assert len(traced) == 2
