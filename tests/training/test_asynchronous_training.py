"""Does training on old models compute what its schedule says, whatever is looked at, saved or interrupted?"""

from dataclasses import dataclass
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, Optimizer, Scaffold, Step, Timing, UnalikeError
from unalike.core import pytrees
from unalike.models import linear
from unalike.testing import example_federation, example_task
from unalike.timing import (
    Asynchronous,
    Clients,
    Deadline,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    OverSelection,
    Synchronous,
    WaitForAll,
    WideningFedFix,
    plan_schedule,
)
from unalike.timing.clock.hardware import spread_times

from .interrupts import asked_at

FEDERATION = example_federation(clients=4)
TASK = example_task(FEDERATION)
WORK = LocalWork(steps=2, batch_size=4)
FEDAVG, SCAFFOLD = FedAvg(work=WORK), Scaffold(work=WORK)
FOUR = FixedTimes([1, 0.9, 0.4, 0.2])
RANDOM = ExponentialTimes([1, 0.9, 0.4, 0.2])
POLICIES = {
    "async": lambda: Asynchronous(hardware=FOUR),
    "async, lost": lambda: Asynchronous(hardware=RANDOM, dropout=0.3, weights="online"),
    "fedfix": lambda: FedFix(0.3, hardware=FOUR, staleness="polynomial"),
    "fedbuff": lambda: FedBuff(2, hardware=RANDOM, weights="online"),
    "deadline, keep": lambda: Deadline(0.5, "keep", hardware=RANDOM),
    "over-selection": lambda: OverSelection(2, hardware=RANDOM),
}


def trained(timing, rounds=24, algorithm=SCAFFOLD, **options):
    options = {"evaluate_every": 0, "seed": 3, **options}
    return unalike.train(FEDERATION, TASK, algorithm, rounds=rounds, timing=timing, **options)


def everything(run):
    memory, _ = run.memories.gather(np.arange(len(FEDERATION)))
    return {"state": run.state, "memory": memory}


def assert_same_run(one, other):
    """To the last bit, and the same record."""
    assert pytrees.largest_difference(everything(one), everything(other)) == 0
    names = {"round", "clock", "participants", "train_loss", "weight_sum", "bytes_up"}
    first, second = one.metrics(), other.metrics()
    for name in names:
        assert np.array_equal(first[name], second[name], equal_nan=True), name


@pytest.fixture(scope="module")
def whole():
    """Runs that nothing interrupts and nobody looks at."""
    return {name: trained(make()) for name, make in POLICIES.items()}


# ---------------------------------------------------------------------------- looking at it changes nothing


@pytest.mark.exact
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("name", POLICIES)
def test_the_answer_does_not_depend_on_when_the_model_is_evaluated(whole, name, every):
    assert_same_run(whole[name], trained(POLICIES[name](), evaluate_every=every))


@pytest.mark.exact
def test_nor_on_keeping_all_versions_or_saving_some(whole, tmp_path):
    kept = trained(POLICIES["async"](), keep_history=True)
    assert_same_run(whole["async"], kept)
    assert_same_run(whole["async"], trained(POLICIES["async"](), out=tmp_path / "run", checkpoint_every=5))
    assert pytrees.largest_difference(kept.history.state(24), whole["async"].state) == 0


@pytest.mark.exact
def test_nor_on_how_many_results_are_computed_together(whole, monkeypatch):
    for most in (2, 3):
        monkeypatch.setattr("unalike.engine.base.MOST_CLIENTS", most)
        assert_same_run(whole["async"], trained(POLICIES["async"]()))


@dataclass(frozen=True, kw_only=True)
class Heavy(FedAvg):
    """FedAvg whose server keeps much more than it sends."""

    def init(self, task, key):
        return {**super().init(task, key), "table": jnp.zeros(5000)}


def test_a_server_that_keeps_much_more_than_it_sends_takes_all_steps(monkeypatch):
    monkeypatch.setattr("unalike.engine.base.MOST_BYTES", 2000)  # so that five thousand numbers are many
    heavy, light = (trained(POLICIES["async"](), 9, kind(work=WORK)) for kind in (Heavy, FedAvg))
    assert pytrees.largest_difference(heavy.state["params"], light.state["params"]) < 1e-6


# -------------------------------------------------------------------------------------- going on later


@pytest.mark.exact
@pytest.mark.parametrize("name", POLICIES)
def test_a_run_that_crashed_goes_on_as_if_nothing_had_happened(whole, name, tmp_path):
    def crash(report, _):
        if report.round == 17:
            raise ZeroDivisionError

    options = {"checkpoint_every": 5, "out": tmp_path / "run"}
    with pytest.raises(ZeroDivisionError):
        trained(POLICIES[name](), observer=crash, **options)
    resumed = trained(POLICIES[name](), resume=True, **options)
    assert_same_run(whole[name], resumed)
    assert set(resumed.history.kept) == set(whole[name].history.kept)


@pytest.mark.exact
def test_a_window_that_is_widened_goes_on_where_it_was(tmp_path):
    def crash(report, _):
        if report.round == 8:
            raise ZeroDivisionError

    widened = {"timing": WideningFedFix(0.5, 1.2, hardware=FOUR), "rounds": 12}
    options = {"checkpoint_every": 5, "out": tmp_path / "run"}
    with pytest.raises(ZeroDivisionError):
        trained(**widened, **options, observer=crash)
    resumed = trained(**widened, **options, resume=True)
    assert_same_run(trained(**widened), resumed)
    np.testing.assert_allclose(np.diff(resumed.metrics()["clock"][1:])[[0, 1, 3, 9]], [0.5, 0.6, 0.8, 1])


@pytest.mark.exact
@pytest.mark.parametrize("name", ["async", "deadline, keep"])
def test_a_run_that_draws_some_clients_goes_on_too(name, tmp_path):
    def crash(report, _):
        if report.round == 9:
            raise ZeroDivisionError

    options = {"rounds": 12, "per_round": 2, "checkpoint_every": 4}
    with pytest.raises(ZeroDivisionError):
        trained(POLICIES[name](), observer=crash, out=tmp_path / "run", **options)
    resumed = trained(POLICIES[name](), resume=True, out=tmp_path / "run", **options)
    assert_same_run(trained(POLICIES[name](), **options), resumed)


@pytest.mark.exact
@pytest.mark.parametrize("name", ["async", "fedbuff"])
def test_ctrl_c_between_any_two_blocks_loses_nothing(whole, name, tmp_path, monkeypatch):
    for reading in (1, 2, 4, 5):
        path = tmp_path / str(reading)
        with monkeypatch.context() as patched:
            patched.setattr("unalike.training.execute.Interrupts", asked_at(reading))
            with pytest.raises(KeyboardInterrupt):
                trained(POLICIES[name](), out=path, checkpoint_every=0)
        assert_same_run(whole[name], trained(POLICIES[name](), out=path, resume=True, checkpoint_every=0))


@pytest.mark.exact
def test_a_finished_run_can_be_made_longer(whole, tmp_path):
    trained(POLICIES["async"](), rounds=11, out=tmp_path / "run").folder.close()
    assert_same_run(whole["async"], trained(POLICIES["async"](), out=tmp_path / "run", resume=True))


@pytest.mark.exact
def test_a_run_that_the_clock_stopped_can_be_made_longer(tmp_path):
    longer = trained(POLICIES["async"](), rounds=100, until=4.0)
    trained(POLICIES["async"](), rounds=100, until=2.0, out=tmp_path / "run").folder.close()
    resumed = trained(POLICIES["async"](), rounds=100, until=4.0, out=tmp_path / "run", resume=True)
    assert pytrees.largest_difference(everything(longer), everything(resumed)) == 0


def test_going_on_with_another_timing_is_a_mistake_that_is_explained(tmp_path):
    trained(Synchronous(), rounds=2, out=tmp_path / "run").folder.close()
    with pytest.raises(UnalikeError, match="timing"):
        trained(POLICIES["async"](), rounds=4, out=tmp_path / "run", resume=True)


# ---------------------------------------------------------------------------------- policies as limits


@pytest.mark.exact
@pytest.mark.parametrize("algorithm", [FEDAVG, SCAFFOLD])
def test_a_window_of_the_slowest_time_is_synchronous_to_the_last_bit(algorithm):
    fixed, waiting, rounds = (
        trained(timing, 8, algorithm, evaluate_every=1)
        for timing in (FedFix(1, hardware=FOUR), WaitForAll(hardware=FOUR), Synchronous())
    )
    assert_same_run(fixed, rounds)
    assert_same_run(waiting, rounds)


def test_half_a_window_on_equal_hardware_is_synchronous_with_twice_the_server_rate():
    half = trained(FedFix(0.5), 12, FEDAVG, keep_history=True)
    double = FedAvg(work=WORK, server_optimizer=Optimizer("sgd", 2.0))
    rounds = trained(Synchronous(), 6, double, keep_history=True)
    for unit in range(1, 7):
        one, other = half.history.state(2 * unit)["params"], rounds.history.state(unit)["params"]
        assert pytrees.largest_difference(one, other) < 1e-5
    assert pytrees.largest_difference(half.history.state(2), half.history.state(3)) == 0
    assert [event["round"] for event in half.events()] == [1, 3, 5, 7, 9, 11]


# --------------------------------------------------------------------------- quadratics follow the recursion


@dataclass(frozen=True, kw_only=True)
class Averaging(FedAvg):
    """FedAvg that also sums up its models from a step on; both numbers are part of the state."""

    def aggregate(self, task, state, mixed):
        stepped = super().aggregate(task, state, mixed)
        counts = (mixed.round >= state["first"]).astype(jnp.float32)
        return {**stepped, "sum": pytrees.add_scaled(state["sum"], counts, stepped["params"])}


def quadratics(optima):
    """Client i has the loss (theta - optimum_i)^2 / 2."""
    data = {str(i): {"train": (np.ones((1, 1)), np.array([c]))} for i, c in enumerate(optima)}
    return unalike.Federation.from_clients(data, classes=None)


OPTIMA = np.arange(10.0)
TEN, SCALAR = quadratics(OPTIMA), unalike.Task.regression(linear(0, input_shape=(1,), outputs=1))
EVERYONE = Clients(np.full(10, 0.1), 3)
SMALL = Averaging(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.01))
FADING = FedAvg(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.2, "decay:0.98"))
F80 = FixedTimes(spread_times(10, 80))


def theta(params):
    return float(np.asarray(params["w"])[0, 0])


@pytest.mark.parametrize(
    "policy",
    [
        Asynchronous(hardware=F80),
        FedFix(0.3, hardware=F80, staleness="hinge:2,1"),
        FedBuff(4, hardware=ExponentialTimes(spread_times(10)), weights="online"),
        Deadline(0.5, "keep", hardware=F80),
        OverSelection(3, hardware=ExponentialTimes(spread_times(10))),
        WaitForAll(hardware=F80),
        Asynchronous(hardware=ExponentialTimes(spread_times(10)), dropout=0.2, weights="identical"),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_training_follows_the_planned_schedule_with_the_rate_of_each_step(policy):
    """theta <- theta + sum_i weight_i rate_n (optimum_i - theta of the version that i was sent)."""
    models = [0.0]
    for step in plan_schedule(policy, EVERYONE, steps=60).steps:
        rate = 0.2 * 0.98**step.number
        changes = [rate * (OPTIMA[i] - models[v]) for i, v in zip(step.clients, step.versions, strict=True)]
        models.append(models[-1] + float(step.weights @ np.array(changes)) if changes else models[-1])
    run = unalike.train(TEN, SCALAR, FADING, rounds=60, seed=3, timing=policy, evaluate_every=0)
    assert theta(run.state["params"]) == pytest.approx(models[-1], rel=2e-5)
    clock = [0.0, *(step.time for step in plan_schedule(policy, EVERYONE, steps=60).steps)]
    np.testing.assert_allclose(run.metrics()["clock"][1:], clock[1:])


def test_the_debug_engine_gives_the_same_answer():
    local, debug = (
        unalike.train(
            TEN, SCALAR, FADING, rounds=16, seed=3, timing=Asynchronous(hardware=F80), engine=engine
        )
        for engine in ("local", "debug")
    )
    assert pytrees.largest_difference(local.state, debug.state) < 1e-5
    assert np.allclose(
        local.metrics()["train_loss"], debug.metrics()["train_loss"], atol=1e-5, equal_nan=True
    )


@pytest.mark.parametrize(
    ("policy", "limit", "until"),
    [
        (Asynchronous(hardware=F80, weights="identical"), 5.9635, 100),
        (Asynchronous(hardware=F80), 4.5, 100),
        (FedFix(0.5, hardware=F80, weights="identical"), 37.5 / 7, 500),
        (FedFix(0.5, hardware=F80), 4.5, 500),
        (FedBuff(5, hardware=F80, weights="identical"), 5.85, 200),
        (FedBuff(5, hardware=F80), 4.5, 200),
    ],
)
def test_corrected_weights_find_the_common_optimum_and_identical_ones_that_of_the_quick(policy, limit, until):
    steps = len(plan_schedule(policy, EVERYONE, until=until).steps)
    half = steps // 2
    params = {"w": jnp.full((1, 1), 5.0)}
    start = SMALL.init(SCALAR, jax.random.key(0))
    start = {**start, "params": params, "sum": pytrees.zeros_like(params), "first": jnp.asarray(half)}
    options = {"rounds": steps, "seed": 3, "evaluate_every": 0, "initial": start}
    run = unalike.train(TEN, SCALAR, SMALL, timing=policy, **options)
    assert theta(run.state["sum"]) / (steps - half) == pytest.approx(limit, abs=0.02)


# ---------------------------------------------------------------------------------- clock and versions


@pytest.mark.exact
def test_the_clock_stops_the_run_with_the_last_step_in_time():
    run = trained(Asynchronous(hardware=FOUR), rounds=1000, until=2.0)
    expected = plan_schedule(Asynchronous(hardware=FOUR), Clients(FEDERATION.importance, 3), until=2.0)
    metrics = run.metrics()
    assert run.rounds == len(expected.steps)
    assert metrics["round"].tolist() == list(range(run.rounds + 1))
    assert metrics["clock"][-1] == 2.0
    assert np.isfinite(metrics["test_loss"][-1])
    assert_same_run(run, trained(Asynchronous(hardware=FOUR), rounds=run.rounds))


def test_a_clock_that_stops_before_the_first_result_leaves_the_start():
    run = trained(Asynchronous(hardware=FOUR), rounds=10, until=0.1)
    assert run.rounds == 0
    assert pytrees.largest_difference(run.state, trained(Synchronous(), 0).state) == 0


def test_without_a_number_of_rounds_the_clock_decides():
    run = trained(FedFix(0.3, hardware=FOUR), rounds=None, until=3.0)
    assert (run.rounds, run.metrics()["clock"][-1]) == (10, 3.0)
    with pytest.raises(UnalikeError, match="how many rounds to train, or until when"):
        trained(FedFix(0.3), rounds=None)


def test_without_a_number_of_rounds_the_clock_decides_also_where_few_are_drawn():
    slow = FixedTimes([5, 1, 1, 1])
    planned, counted = (
        trained(WaitForAll(hardware=slow), rounds, FEDAVG, until=20, per_round=1) for rounds in (None, 1000)
    )
    assert planned.rounds == counted.rounds


@pytest.mark.parametrize("name", POLICIES)
def test_only_versions_that_somebody_works_on_are_kept(whole, name):
    """Beside the newest, one for each version that is in the air at the end, and never more than clients."""
    policy = POLICIES[name]()
    clients = Clients(FEDERATION.importance, 3)
    released = {v for step in plan_schedule(policy, clients, steps=24).steps for v in step.done_with.tolist()}
    assert set(whole[name].history.kept) == set(range(25)) - released
    assert len(whole[name].history.kept) <= len(FEDERATION) + 1


def test_the_record_says_who_came_when_with_which_version(whole):
    steps = plan_schedule(POLICIES["fedfix"](), Clients(FEDERATION.importance, 3), steps=24).steps
    metrics = whole["fedfix"].metrics()
    assert metrics["participants"][1:].tolist() == [len(step.clients) for step in steps]
    ages = [float(np.max(step.number - step.versions, initial=-1)) for step in steps]
    found = np.nan_to_num(metrics["oldest"][1:], nan=-1)
    assert found.tolist() == ages


def test_every_model_that_is_sent_is_counted(whole):
    metrics = whole["over-selection"].metrics()
    once = metrics["bytes_up"][1] / 2
    assert metrics["bytes_down"][1:].tolist() == [4 * once] * 24


# --------------------------------------------------------------------------------------- who remembers what


@pytest.mark.parametrize(
    "name",
    [
        "async",
        "async, lost",
        "fedfix",
    ],
)
def test_scaffolds_control_stays_the_mean_of_its_clients_controls(whole, name):
    run = whole[name]
    memory, _ = run.memories.gather(np.arange(len(FEDERATION)))
    mean = jax.tree.map(lambda leaf: np.tensordot(FEDERATION.importance, leaf, 1), memory["control"])
    assert pytrees.largest_difference(run.state["control"], mean) < 1e-5


class WorkingAhead(Timing):
    """Everyone in turn, each with a result from a model that is two versions old."""

    def steps(self, draw, first):
        for number in count(first):
            client, version = np.array([number % 2]), np.array([max(number - 2, 0)])
            yield Step(number, client, version, np.ones(1), float(number + 1), np.array([number - 2]))


@pytest.mark.exact
def test_clients_that_work_ahead_remember_every_job():
    singly, together = (trained(WorkingAhead(), 9, evaluate_every=every) for every in (1, 0))
    assert pytrees.largest_difference(everything(singly), everything(together)) == 0
