"""Is a method with dishonest clients the method, but for them, in every engine and timing?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, LocalWork, Optimizer
from unalike.algorithms import DPASGD, Ditto
from unalike.core.pytrees import largest_difference
from unalike.data.chosen_clients import choose_clients
from unalike.engine import LocalEngine, Setting
from unalike.testing import check_algorithm
from unalike.timing import Asynchronous, FedBuff, FixedTimes
from unalike.topology import Gossip
from unalike.trust.behaviors import Behavior, SimulatedAttack, behavior_registry, misbehave

from ...engine import toys
from .examples import FEDERATION, METHOD, attacked, flat, honest

TIMES = FixedTimes(np.array([1.0, 2, 3, 1, 2, 3]))


@pytest.mark.parametrize("method", [FedAvg(), Ditto()], ids=lambda method: method.name)
def test_the_contract_holds_with_nobody_dishonest(method):
    passed = check_algorithm(misbehave(method, behavior_registry.make("free-rider:decay"), []))
    assert {"same seed", "order of clients", "clients keep to themselves", "every engine"} <= set(passed)


def test_an_honest_behavior_changes_nothing():
    assert largest_difference(attacked(Behavior()).state, honest().state) == 0


@pytest.mark.parametrize("spec", ["free-rider:decay", "little-is-enough"])
def test_every_engine_gives_the_same_answer(spec):
    local, debug = (attacked(spec, engine=name, per_round=4, rounds=1) for name in ("local", "debug"))
    assert largest_difference(local.state, debug.state) < 1e-4
    assert largest_difference(local.memories.tensors(), debug.memories.tensors()) < 1e-4


def test_rows_that_are_gathered_give_the_same_answer():
    attack = SimulatedAttack.of("free-rider:decay", "2", FEDERATION)
    federation, method = attack.federation(FEDERATION), attack.algorithm(METHOD)
    setting = Setting(federation, toys.logistic_task(), method, 3, devices=1)
    engine = LocalEngine(setting, resident=False)
    other = unalike.train(
        federation, toys.logistic_task(), method, rounds=4, seed=3, evaluate_every=0, engine=engine
    )
    assert largest_difference(attacked("free-rider:decay").state, other.state) < 1e-5


@pytest.mark.parametrize("spec", ["free-rider:decay", "inner-product:0.3"])
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path, spec):
    whole = attacked(spec, rounds=6, per_round=4)
    attacked(spec, rounds=3, per_round=4, out=tmp_path / "run", checkpoint_every=1)
    resumed = attacked(spec, rounds=6, per_round=4, out=tmp_path / "run", resume=True)
    assert largest_difference(whole.state, resumed.state) == 0
    assert largest_difference(whole.memories.tensors(), resumed.memories.tensors()) == 0


@pytest.mark.parametrize("timing", [Asynchronous, lambda hardware: FedBuff(2, hardware=hardware)])
@pytest.mark.parametrize("spec", ["free-rider:decay", "little-is-enough:1"])
def test_results_may_arrive_late(timing, spec):
    run = attacked(spec, timing=timing(hardware=TIMES), rounds=8)
    assert np.isfinite(flat(run.state["params"])).all()


def test_a_client_among_peers_may_ride_for_free():
    method = DPASGD(work=METHOD.work, optimizer=METHOD.optimizer)
    mixing = np.full((6, 6), 1 / 6)
    everyone = attacked("free-rider:plain", "1.0", method=method, timing=Gossip(mixing), rounds=2)
    start = attacked("free-rider:plain", "1.0", method=method, timing=Gossip(mixing), rounds=0)
    assert largest_difference(everyone.state, start.state) < 1e-6
    with pytest.raises(ConfigError, match="needs a server"):
        attacked("inner-product", method=method, timing=Gossip(mixing))


def test_free_riders_cost_no_mini_batches():
    """Whatever their rows are, nobody looks at them."""
    x = np.array(FEDERATION.train.x)
    x[FEDERATION.train.owners >= 4] = 1e6
    spoilt = replace(FEDERATION, train=replace(FEDERATION.train, x=x))
    one, other = (attacked("free-rider:decay", federation=each) for each in (FEDERATION, spoilt))
    assert largest_difference(one.state, other.state) == 0


def test_the_record_tells_the_honest_from_the_rest():
    run = attacked("random:100", evaluate_every=1)
    metrics = run.metrics()
    assert np.allclose(metrics["dishonest"][1:], FEDERATION.importance[4:].sum(), atol=1e-6)
    values = run.evaluate("test")
    accuracy = np.average(values["accuracy"][:4], weights=FEDERATION.test.sizes[:4])
    assert metrics["honest_test_accuracy"][-1] == pytest.approx(accuracy)
    assert "honest_test_loss" not in honest(evaluate_every=1).metrics()
    idle = attacked("free-rider:plain", rounds=1).metrics()["train_loss"][-1]
    alone = honest(federation=FEDERATION.subset(np.arange(4)), rounds=1).metrics()["train_loss"][-1]
    assert idle == pytest.approx(alone, rel=1e-5)


def test_who_is_dishonest():
    named = replace(FEDERATION, names=tuple("abcdef"))
    chosen = {"0": [], "2": [4, 5], "0.5": [3, 4, 5], "1.0": [0, 1, 2, 3, 4, 5]}
    for words, numbers in chosen.items():
        assert choose_clients(words, FEDERATION, "dishonest").tolist() == numbers
    assert choose_clients("b, a", named, "dishonest").tolist() == [0, 1]
    assert choose_clients("3,", FEDERATION, "dishonest").tolist() == [3]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("7", "cannot make 7 clients dishonest: there are only 6"),
        ("-1", "cannot make -1 clients dishonest"),
        ("1.5", "must lie between 0 and 1, but is 1.5"),
        ("9,", "unknown client '9'"),
        (",", "a number of clients, a share of them, or their names"),
    ],
)
def test_an_impossible_choice_is_one_sentence(words, sentence):
    with pytest.raises(ConfigError, match=sentence):
        choose_clients(words, FEDERATION, "dishonest")


def test_local_work_of_the_wrapper_is_that_of_the_method():
    wrapped = replace(misbehave(METHOD, Behavior(), [1]), work=LocalWork(steps=1, batch_size=2))
    slow = FedAvg(work=LocalWork(steps=1, batch_size=2), optimizer=Optimizer("sgd", 0.3))
    assert wrapped.method == slow
    assert wrapped.prepare(toys.logistic_task(), FEDERATION).inner == slow
