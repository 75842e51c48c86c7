"""Are free-riders found, fair clients left alone, and is a run that goes on the same?"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork
from unalike.aggregation.base import aggregator_registry
from unalike.core.pixels import as_floats
from unalike.core.pytrees import largest_difference
from unalike.experiments.build import make_aggregator
from unalike.experiments.config import read_experiment
from unalike.participation import Uniform
from unalike.timing import FedBuff, FixedTimes, Step
from unalike.trust.monitor import Monitor, MonitorState, Verdict

from .free_riders import CLIENTS, WORK, FreeRider, digits, monitored

LAST = CLIENTS - 1


def verdicts(monitor):
    return [Verdict(v).name for v in monitor.book.verdicts]


def changes(run, client=LAST):
    """When a client's verdict changed, to what, and why."""
    events = [event for event in run.record.events() if event["client"] == client]
    return [(event["round"], event["kind"], event["reasons"]) for event in events]


# Free-riders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_who_sends_the_model_back_is_excluded_after_the_first_round(engine):
    little = {**WORK, "work": LocalWork(steps=1, batch_size=16)}
    run, monitor = monitored(FreeRider(lie="plain", **little), rounds=2, engine=engine)
    assert changes(run) == [(1, "client excluded", ["idle or copied"])]
    assert verdicts(monitor) == ["CLEAR"] * LAST + ["EXCLUDE"]
    assert run.record.groups("used")[2].tolist() == list(range(LAST))


@pytest.mark.parametrize("amplitude", [0.02, 0.06])
@pytest.mark.parametrize("decay", [0.5, 1.0, 2.0])
def test_noise_in_place_of_work_is_found_after_five_rounds(amplitude, decay):
    run, monitor = monitored(FreeRider(lie="noise", amplitude=amplitude, decay=decay, **WORK), rounds=6)
    assert changes(run) == [(5, "client quarantined", ["memoryless", "Gaussian"])]
    assert verdicts(monitor)[:LAST] == ["CLEAR"] * LAST


def test_quarantine_weighs_nothing_exclusion_works_no_more_and_others_take_over():
    _, monitor = monitored(FedAvg(**WORK), rounds=0)
    monitor.book.verdicts = np.array([0, 1, 2, 3, 0, 0])
    clients = np.array([4, 3, 2, 1])
    step = monitor.admit(Step(7, clients, np.full(4, 7), np.array([0.1, 0.2, 0.3, 0.4])))
    assert step.clients.tolist() == [4, 2, 1]
    assert step.weights.tolist() == pytest.approx([0.2, 0, 0.8])
    nobody = monitor.admit(Step(7, clients[1:3], np.full(2, 7), np.array([0.5, 0.5])))
    assert len(nobody.clients) == 0


def test_the_record_says_what_the_suspects_hold_and_would_cost():
    """Plain free-riders with a share s of the weight are a server rate of 1 - s."""
    run, _ = monitored(FreeRider(lie="plain", **WORK), rounds=3)
    share = digits()[0].importance[LAST]
    metrics = run.metrics()
    assert metrics["monitor_excluded"][1:].tolist() == [1, 1, 1]
    np.testing.assert_allclose(metrics["monitor_suspected_weight"][1:], share)
    np.testing.assert_allclose(metrics["monitor_slow_down"][1:], 1 / (1 - share))
    np.testing.assert_allclose(metrics["weight_sum"][1:], 1)


@dataclass(frozen=True)
class _Preset(Monitor):
    """A monitor that has made up its mind beforehand."""

    verdict: int = 0

    def admit(self, step):
        self.book.verdicts[LAST] = self.verdict
        return super().admit(step)


@pytest.mark.parametrize("name", ["mean", "median"])
def test_for_the_model_quarantine_and_exclusion_are_the_same(name):
    """Whoever weighs nothing has no vote in a rule either."""
    federation, task = digits()
    rule = aggregator_registry.make(name)
    quarantined, excluded, clear = (
        unalike.train(
            federation,
            task,
            FreeRider(lie="noise", **WORK),
            rounds=1,
            seed=1,
            aggregator=_Preset(MonitorState(CLIENTS), rule, verdict=verdict),
        )
        for verdict in (Verdict.QUARANTINE, Verdict.EXCLUDE, Verdict.CLEAR)
    )
    assert largest_difference(quarantined.message, excluded.message) < 1e-6
    assert largest_difference(quarantined.message, clear.message) > 1e-3


@dataclass(frozen=True, kw_only=True)
class Replay(FedAvg):
    """The last client goes on as the model went between its last two visits; the first two are fair."""

    def init_client(self, task, message, key):
        return {"last": message, "visits": jnp.zeros(())}

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, {}, data, key)
        on = jax.tree.map(lambda now, last: now + 0.9 * (now - last), message, memory["last"])
        lies = (data.client == LAST) & (memory["visits"] > 1)
        upload = jax.tree.map(lambda a, b: jnp.where(lies, a, b), on, reply.upload)
        return reply._replace(upload=upload, memory={"last": message, "visits": memory["visits"] + 1})


def test_who_replays_the_models_own_way_is_found_by_that_alone():
    run, monitor = monitored(Replay(**WORK), rounds=7)
    assert changes(run) == [(5, "client watched", ["replayed"])]
    assert verdicts(monitor)[:LAST] == ["CLEAR"] * LAST


@dataclass(frozen=True, kw_only=True)
class Copies(FedAvg):
    """The last two clients send the same: half of the model."""

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        lies = data.client >= LAST - 1
        upload = jax.tree.map(lambda a, b: jnp.where(lies, b / 2, a), reply.upload, message)
        return reply._replace(upload=upload)


def test_who_sends_what_another_sends_is_excluded_with_it():
    _, monitor = monitored(Copies(**WORK), rounds=2)
    assert verdicts(monitor) == ["CLEAR"] * (LAST - 1) + ["EXCLUDE"] * 2


def test_an_older_model_is_a_replay_at_once():
    @dataclass(frozen=True, kw_only=True)
    class Old(FedAvg):
        def init_client(self, task, message, key):
            return message

        def client(self, task, message, memory, data, key):
            reply = super().client(task, message, {}, data, key)
            upload = jax.tree.map(
                lambda a, b: jnp.where((data.client == LAST) & (data.round > 0), a, b), memory, reply.upload
            )
            return reply._replace(upload=upload, memory=memory)

    run, _ = monitored(Old(**WORK), rounds=2)
    assert changes(run)[0] == (2, "client watched", ["replayed"])


def test_rows_of_the_servers_own_are_a_third_flag_against_large_noise():
    """So large that curvature outweighs the slope, along which noise goes down half of the time."""
    federation, task = digits()
    rows = federation.test
    loss = jax.jit(lambda model: task.losses(model, as_floats(jnp.asarray(rows.x)), rows.y).mean())
    loud = FreeRider(lie="noise", amplitude=1.0, decay=0.0, **WORK)
    run, monitor = monitored(loud, rounds=6, holdout=loss)
    assert changes(run) == [(5, "client excluded", ["memoryless", "Gaussian", "useless"])]
    assert max(monitor.book.verdicts[:LAST]) <= Verdict.WATCH


# Fair clients ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("partition", ["iid", "dirichlet:0.5"])
def test_nobody_fair_is_taken_for_a_free_rider(partition, seed):
    _, monitor = monitored(FedAvg(**WORK), rounds=25, partition=partition, seed=seed)
    assert max(monitor.book.verdicts) <= Verdict.WATCH


def test_a_monitor_changes_nothing_where_everyone_is_fair():
    federation, task = digits()
    watched, _ = monitored(FedAvg(**WORK), rounds=4)
    plain = unalike.train(federation, task, FedAvg(**WORK), rounds=4, seed=1, evaluate_every=0)
    assert largest_difference(watched.message, plain.message) < 1e-6


def test_where_nobody_moves_nobody_is_blamed_and_it_is_said():
    still = FedAvg(work=WORK["work"], optimizer=unalike.Optimizer("sgd", 0.0))
    run, monitor = monitored(still, rounds=2)
    assert set(verdicts(monitor)) == {"CLEAR"}
    assert [event["kind"] for event in run.record.events()] == ["no progress"] * 2


# What it goes together with -------------------------------------------------------------------------------


def test_a_client_that_is_drawn_now_and_then_is_judged_by_its_own_last_update():
    who = Uniform(per_round=3)
    _, monitor = monitored(FreeRider(lie="noise", **WORK), rounds=16, participation=who)
    assert monitor.book.seen[LAST] >= 5
    assert verdicts(monitor) == ["CLEAR"] * LAST + ["QUARANTINE"]


def test_late_results_are_compared_with_the_model_that_was_sent():
    """Against the newest model, a plain free-rider would seem to have moved."""
    timing = FedBuff(3, hardware=FixedTimes(np.array([1.0, 1, 2, 2, 3, 3])))
    _, monitor = monitored(FreeRider(lie="plain", **WORK), rounds=8, timing=timing)
    assert verdicts(monitor) == ["CLEAR"] * LAST + ["EXCLUDE"]


@pytest.mark.parametrize("name", ["median", "bucketing:2,median", "norm-bound:1"])
def test_any_rule_can_be_behind_it(name):
    rule = aggregator_registry.make(name)
    federation, task = digits()
    watched, _ = monitored(FedAvg(**WORK), rounds=2, rule=rule)
    plain = unalike.train(federation, task, FedAvg(**WORK), rounds=2, seed=1, aggregator=rule)
    assert largest_difference(watched.message, plain.message) < 1e-6


def test_a_run_that_goes_on_is_the_same_run(tmp_path):
    lies = FreeRider(lie="noise", **WORK)
    whole, straight = monitored(lies, rounds=7, out=tmp_path / "whole", checkpoint_every=1)
    monitored(lies, rounds=3, out=tmp_path / "parts", checkpoint_every=1)
    parts, resumed = monitored(lies, rounds=7, out=tmp_path / "parts", resume=True, checkpoint_every=1)
    assert largest_difference(whole.message, parts.message) == 0
    assert whole.record.events() == parts.record.events()
    for name, values in straight.book.state().items():
        np.testing.assert_array_equal(values, resumed.book.state()[name], err_msg=name)
    for name in ("monitor_consecutive", "monitor_digest", "monitor_fit"):
        for round, values in whole.record.groups(name).items():
            np.testing.assert_array_equal(values, parts.record.groups(name)[round])


def test_no_upload_is_in_the_record_only_digests_and_numbers(tmp_path):
    run, _ = monitored(FreeRider(lie="plain", **WORK), rounds=1)
    (event,) = run.record.events()
    assert len(event["digest"]) == 64
    assert all(len(values) <= CLIENTS for values in run.record.groups("monitor_normal").values())


def test_one_client_is_refused():
    with pytest.raises(unalike.ConfigError, match="compares clients with each other"):
        monitored(FedAvg(**WORK), participation=Uniform(per_round=1))


def test_more_than_a_server_can_keep_is_refused(monkeypatch):
    monkeypatch.setattr("unalike.trust.monitor.monitor.MOST_BYTES", 4 * 650 * 3 * CLIENTS - 1)
    with pytest.raises(unalike.ConfigError, match="a smaller per_round or a smaller model"):
        monitored(FedAvg(**WORK))


@pytest.mark.parametrize("window", [0, 1, 2.5])
def test_a_window_that_is_none_is_refused(window):
    with pytest.raises(unalike.ConfigError, match="at least 2 rounds"):
        Monitor(MonitorState(3), window=window)


def test_it_says_why_it_cannot_work_where_uploads_are_hidden():
    assert "single uploads" in Monitor(MonitorState(3)).hidden


def test_words_reach_the_monitor_and_the_rule_behind_it():
    words = {"monitor": "free-riders:7", "aggregator": "krum:1"}
    made = make_aggregator(read_experiment(None, words), 9)
    assert (made.window, made.normality, made.rule.name, made.book.clients) == (7, True, "krum", 9)
    noisy = make_aggregator(read_experiment(None, {"monitor": "free-riders-with-noise"}), 9)
    assert (noisy.window, noisy.normality) == (5, False)
