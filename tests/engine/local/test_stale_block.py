"""Are results that do not depend on each other the same when they are computed together?"""

import jax
import numpy as np
import pytest

from unalike.algorithms import FedAvg, LocalWork, Optimizer, Scaffold
from unalike.core.pytrees import largest_difference
from unalike.engine import DebugEngine, LocalEngine, Setting
from unalike.engine.blocks import one_cohort
from unalike.engine.local.batches import power_of_two
from unalike.engine.local.layout import assign_to_cores
from unalike.engine.local.stale_block import in_order

from .. import toys

SIZES = [3, 6, 2, 4, 5, 3]
WORK = LocalWork(steps=2, batch_size=2)
BEFORE = [toys.step(n, [n, n + 3], [0.3, 0.6]) for n in range(3)]
"""Three rounds, so that there are versions 0 to 3."""
BLOCK = [
    toys.step(3, [1, 4], [0.4, 0.9], [2, 0])._replace(jobs=np.array([5, 3])),
    toys.step(4, [0], [1.7], [3])._replace(jobs=np.array([4])),
    toys.step(5, [2, 3], [0.1, 0.2], [1, 3])._replace(jobs=np.array([3, 9])),
]
"""Steps whose clients all start from one of these."""


@pytest.fixture(scope="module")
def federation():
    return toys.federation(SIZES)


def played(engine, setting, blocks):
    """Versions 0 to 3 one by one, then some blocks; states, messages, reports and memories at the end."""
    state, memories, _ = toys.start(setting)
    states, _ = toys.advance(engine, setting, BEFORE, state, memories)
    state, messages, reports = states[-1], [], []
    for block in blocks:
        whole, _ = one_cohort(block)
        state, said, told = engine.run_stale(block, state, toys.told(setting, states, whole), memories)
        told = (
            jax.tree.map(lambda leaf: leaf[None], setting.algorithm.broadcast(setting.task, state))
            if told is None
            else told
        )
        messages += [jax.tree.map(lambda leaf, k=k: np.asarray(leaf)[k], told) for k in range(len(block))]
        reports += [{name: np.asarray(values) for name, values in report.items()} for report in said]
    return jax.tree.map(np.asarray, state), messages, reports, memories.gather(np.arange(6))[0]


def one_by_one(engine, setting):
    """The same with ordinary steps."""
    state, memories, _ = toys.start(setting)
    states, reports = toys.advance(engine, setting, [*BEFORE, *BLOCK], state, memories)
    messages = [setting.algorithm.broadcast(setting.task, state) for state in states[4:]]
    return states[-1], messages, reports[3:], memories.gather(np.arange(6))[0]


def assert_close(one, other, tolerance):
    for a, b in zip(one, other, strict=True):
        assert largest_difference(a, b) <= tolerance


SCAFFOLD = Scaffold(work=WORK)
SCHEDULED = FedAvg(
    work=LocalWork(steps=1, batch_size=2),
    optimizer=Optimizer("sgd", 0.1, "decay:0.5"),
    server_optimizer=Optimizer.of("sgd", 0.5, {"momentum": 0.9}),
)


@pytest.mark.exact
@pytest.mark.parametrize("algorithm", [SCAFFOLD, SCHEDULED])
def test_a_block_equals_its_steps_one_after_the_other(federation, algorithm):
    setting = Setting(federation, toys.logistic_task(), algorithm, 4)
    engine = LocalEngine(setting)
    together = played(engine, setting, [BLOCK])
    assert_close(together, played(engine, setting, [[step] for step in BLOCK]), 0)
    if algorithm is SCAFFOLD:  # the other programs that it takes are compiled once
        assert_close(together, one_by_one(engine, setting), 1e-6)


def test_one_core_and_all_cores_agree(federation):
    if jax.device_count() < 2:
        pytest.skip("needs two devices")
    answers = []
    for devices in (1, 2):
        setting = Setting(federation, toys.logistic_task(), SCAFFOLD, 4, None, devices)
        answers.append(played(LocalEngine(setting), setting, [BLOCK]))
    assert_close(*answers, 1e-6)


# -------------------------------------------------------------------------------- what it is by hand


def toy_numbers(federation, rejected=()):
    """Parameters, what the server was told, accepted flags and visits of the toys, worked out by hand."""
    values, versions = toys.values_of(federation), [np.arange(2.0)]
    visits, told, flags = np.full(6, 10.0), None, []
    for step in [*BEFORE, *BLOCK]:
        kept = [k for k, client in enumerate(step.clients) if (step.number, client) not in rejected]
        weights = step.weights[kept] * step.weights.sum() / step.weights[kept].sum()
        starts = np.array([versions[v] for v in step.versions[kept]])
        total = (weights[:, None] * (starts + values[step.clients[kept], None])).sum(0)
        start = (weights[:, None] * starts).sum(0)
        versions.append(versions[-1] + total - start)
        visits[step.clients[kept]] += 1
        flags.append([float(k in kept) for k in range(len(step.clients))])
        share = federation.importance[step.clients[kept]].sum()
        told = {
            "total": total,
            "start": start,
            "weight": step.weights.sum(),
            "count": len(kept),
            "share": share,
        }
    return versions, {**told, "round": 5}, flags, visits


@pytest.mark.parametrize("make", [LocalEngine, DebugEngine])
@pytest.mark.parametrize("bad", [None, (4, 3), (3, 5)])
def test_toys_are_what_they_are_by_hand(make, bad):
    """Memory, rejected uploads, weights that do not sum to one, several clients in a step."""
    bad_rounds = np.full(6, -1)
    if bad:
        bad_rounds[bad[0]] = bad[1]
    federation = toys.toy_federation(SIZES, bad_rounds)
    setting = Setting(federation, toys.logistic_task(), toys.Toy(), 0)
    if bad and make is DebugEngine:
        with pytest.warns(UserWarning, match=f"round {bad[1]}, client {bad[0]}: upload"):
            state, messages, reports, memory = played(make(setting), setting, [BLOCK])
    else:
        state, messages, reports, memory = played(make(setting), setting, [BLOCK])
    versions, told, flags, visits = toy_numbers(federation, [bad[::-1]] if bad else [])
    np.testing.assert_allclose(messages, versions[4:], rtol=1e-5)
    np.testing.assert_allclose(state["params"], versions[-1], rtol=1e-5)
    assert largest_difference(state["told"], told) < 1e-5
    assert [report["accepted"].tolist() for report in reports] == flags[3:]
    np.testing.assert_allclose(memory["count"], np.repeat(visits[:, None], 2, axis=1))
    values = toys.values_of(federation)
    for step, report in zip(BLOCK, reports, strict=True):
        np.testing.assert_allclose(report["value"], values[step.clients], rtol=1e-5)


LONELY = toys.toy_federation(SIZES, [4, -1, -1, -1, -1, -1])
"""The only client of step 4 sends NaN in it."""


@pytest.mark.exact
def test_a_step_whose_only_upload_is_rejected_changes_nothing():
    setting = Setting(LONELY, toys.logistic_task(), toys.Toy(), 0)
    _, messages, reports, memory = played(LocalEngine(setting), setting, [BLOCK])
    assert np.array_equal(messages[0], messages[1])
    assert reports[1]["accepted"].tolist() == [0]
    assert memory["count"][0].tolist() == [11, 11]


@pytest.mark.filterwarnings("ignore:round 4")
def test_both_engines_agree_on_a_step_whose_only_upload_is_rejected():
    class Pushed(toys.Toy):
        def aggregate(self, task, state, mixed):
            stepped = super().aggregate(task, state, mixed)
            return {**stepped, "params": stepped["params"] + 1}  # such as momentum would

    setting = Setting(LONELY, toys.logistic_task(), Pushed(), 0)
    local, debug = (played(make(setting), setting, [BLOCK]) for make in (LocalEngine, DebugEngine))
    assert_close(local, debug, 1e-5)


# -------------------------------------------------------------------------------------------- jobs and rounds


def stepped(setting, number, job):
    """The model after a step of one client of weight one that starts from version 0."""
    state, memories, _ = toys.start(setting)
    step = toys.step(number, [1], [1.0], [0])._replace(jobs=None if job is None else np.array([job]))
    messages = toys.told(setting, [state], step)
    new, _, _ = LocalEngine(setting).run_stale([step], state, messages, memories)
    return np.asarray(new["params"]["w"])


@pytest.mark.exact
def test_batches_belong_to_the_clients_job_not_to_the_step(federation):
    setting = Setting(federation, toys.logistic_task(), SCAFFOLD, 4)
    assert np.array_equal(stepped(setting, 3, job=2), stepped(setting, 9, job=2))
    assert not np.array_equal(stepped(setting, 3, job=2), stepped(setting, 3, job=3))
    assert np.array_equal(stepped(setting, 3, job=None), stepped(setting, 7, job=3))


def test_the_learning_rate_belongs_to_the_step_not_to_the_job(federation):
    """One local step of the same batch: the change is the learning rate times the same gradient."""
    setting = Setting(federation, toys.logistic_task(), SCHEDULED, 4)
    start = np.asarray(toys.start(setting)[0]["params"]["w"])
    first, third = (stepped(setting, number, job=7) - start for number in (1, 3))
    np.testing.assert_allclose(first, 4 * third, atol=1e-6)
    assert np.abs(first).max() > 1e-3


# ------------------------------------------------------------------------------------------------------ parts


def test_steps_are_joined_in_order():
    whole, ends = one_cohort(BLOCK)
    assert whole.number == 3
    assert whole.clients.tolist() == [1, 4, 0, 2, 3]
    assert whole.versions.tolist() == [2, 0, 3, 1, 3]
    assert whole.jobs.tolist() == [5, 3, 4, 3, 9]
    assert whole.weights.tolist() == [0.4, 0.9, 1.7, 0.1, 0.2]
    assert ends.tolist() == [2, 3, 5]
    unnamed, _ = one_cohort([step._replace(jobs=None) for step in BLOCK])
    assert unnamed.jobs.tolist() == [3, 3, 4, 5, 5]
    alone, ends = one_cohort(BLOCK[:1])
    assert alone is BLOCK[0]
    assert ends.tolist() == [2]


def test_results_are_taken_in_order_wherever_they_were_computed():
    _, ends = one_cohort(BLOCK)
    layout = assign_to_cores(np.array([5, 1, 1, 9, 2]), 2, power_of_two)
    numbers = np.array([3, 3, 4, 5, 5])
    order = in_order(ends, numbers, layout)
    assert order.count.tolist() == [5]
    assert [len(column) for column in order[:3]] == [8] * 3  # one of a few lengths
    assert order.last[:5].tolist() == [False, True, True, False, True]
    assert layout.place[order.slot[:5]].tolist() == list(range(5))
    assert order.round[:5].tolist() == numbers.tolist()
