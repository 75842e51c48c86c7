"""Does the server learn the sum of uploads and nothing else, whoever leaves on the way?"""

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.deploy.client_config import PROTOCOL
from unalike.deploy.server import introductions, make_contracts, make_folder, run_name
from unalike.deploy.transport.mailbox import Mailbox
from unalike.deploy.transport.messages import MessageError, WireMessage, pack, unpack
from unalike.engine import Setting
from unalike.experiments.build import make_algorithm, make_task
from unalike.experiments.build_participation import make_participation
from unalike.experiments.run import run_experiment
from unalike.timing import WaitForAll
from unalike.training.train import train

from ..in_process_nodes import Village, experiment

pytest.importorskip("flwr")

from flwr.app import ConfigRecord, Context, Error, Message, RecordDict
from flwr.common import bytes_to_ndarray, ndarray_to_bytes
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.supercore.task_identity import TaskIdentity

from unalike.aggregation.base import WeightedSum
from unalike.aggregation.norm_bound import NormBound
from unalike.aggregation.robust import Median
from unalike.deploy.secure_aggregation.engine import SecureEngine
from unalike.deploy.secure_aggregation.grid import SentMessage, fault
from unalike.deploy.secure_aggregation.node import secure_app, upload_vector
from unalike.participation import Full, Uniform, sampler_registry
from unalike.privacy.accountant import Ledger
from unalike.privacy.central import CentralPrivacy
from unalike.privacy.secure_aggregation import HEAVIEST, check_secure, levels, reach, whole_weights
from unalike.trust.monitor import Monitor, MonitorState

SETUP, SHARES, MASKED, UNMASK = Stage.all()


class Town(Village):
    """A village whose nodes also speak Flower's SecAgg+; `tricks[name](stage, reply)` may return another
    reply, an error as words, or None for silence."""

    def __init__(self, federation, folder, only=False):
        super().__init__(federation, folder)
        self.grid, self.tricks, self.passed = self, {}, []
        self._replies = {}
        self.answers = {name: worker.answer for name, worker in self.workers.items()}
        self.apps = {
            name: secure_app(lambda request, name=name: self.answers[name](request), only)
            for name in self.workers
        }
        self.contexts = {
            name: Context(1, node, {}, RecordDict(), {}) for node, name in enumerate(self.workers)
        }

    def push_messages(self, messages):
        return [self._carry(message) for message in messages]

    def pull_messages(self, ids):
        return [self._replies.pop(i) for i in list(ids) if i in self._replies]

    def _carry(self, message):
        message.metadata.__dict__["_message_id"] = message.object_id
        name = list(self.workers)[message.metadata.dst_node_id]
        stage = message.content[RECORD_KEY_CONFIGS][Key.STAGE]
        content = recorddict_from_proto(recorddict_to_proto(message.content))
        given = Message(content, dst_node_id=0, message_type="train")
        given.__dict__["_metadata"] = message.metadata
        try:
            reply = self.apps[name](given, self.contexts[name])
        except Exception as error:
            reply = Message(Error(1, f"{type(error).__name__}: {error}"), reply_to=message)
        reply = self.tricks.get(name, lambda stage, reply: reply)(stage, reply)
        if isinstance(reply, str):
            reply = Message(Error(1, reply), reply_to=message)
        if reply is not None:
            self.passed.append((name, stage, reply))
            self._replies[message.object_id] = reply
        return message.object_id


def quick(town, node):
    """Answers without training: the upload is the message plus the node's number and one, over 100."""

    def answer(request):
        if request.kind == "introduce":
            return town.workers[f"node-{node}"].answer(request)
        model = {name.removeprefix("message/"): array for name, array in request.arrays.items()}
        if request.kind == "evaluate":
            return WireMessage("metrics", {"samples": 1.0, "loss": float(model["w"].mean()), "accuracy": 0.5})
        moved = {f"upload/{name}": array + np.float32(0.01 * (node + 1)) for name, array in model.items()}
        return WireMessage("upload", {"job": request.numbers["job"]}, moved)

    return answer


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=4, partition="dirichlet:0.5", samples=200, seed=1)


@pytest.fixture
def slow_town(federation, tmp_path, monkeypatch):
    for name in ("_task_id", "_run_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
    return Town(federation, tmp_path / "nodes")


@pytest.fixture
def town(slow_town):
    slow_town.answers = {name: quick(slow_town, node) for node, name in enumerate(slow_town.workers)}
    return slow_town


def moved(run):
    """How far each entry of the model moved from zero; all by the same."""
    values = np.concatenate([np.ravel(leaf) for leaf in run.message.values()])
    assert np.ptp(values) < 1e-6
    return values.mean()


def expected(federation, nodes):
    sizes = federation.train.sizes[list(nodes)]
    return float(np.average([0.01 * (node + 1) for node in nodes], weights=sizes))


def served(town, folder, patience=5.0, aggregator=WeightedSum(), **values):
    described = experiment(**values)
    told = introductions(town, len(town.workers), 5.0, lambda line: None)
    federation = unalike.deploy.server.gather_federation(told, described)
    task, algorithm = make_task(described, federation), make_algorithm(described)
    who = make_participation(described, federation)
    check_secure(described.algorithm, algorithm, who, described.timing, len(federation))
    opened = make_folder(described, folder, False)
    ready = algorithm.prepare(task, federation)
    setting = Setting(federation, task, ready, described.seed, aggregator=aggregator)
    client_configs = make_contracts(described, federation, run_name(opened))
    engine = SecureEngine(setting, Mailbox(town, list(told)), client_configs, patience)
    return train(
        federation,
        task,
        algorithm,
        rounds=described.rounds_to_train,
        seed=described.seed,
        participation=who,
        timing=WaitForAll(),
        engine=engine,
        evaluate_every=described.evaluate_every,
        out=opened,
    )


def simulated(federation, **values):
    described = experiment(**values)
    return run_experiment(described, federation=federation, task=make_task(described, federation))


def said(run, kind):
    return [event for event in run.events() if event["kind"] == kind]


@pytest.mark.parametrize(
    "values",
    [{"per_round": 3}, {"algorithm": "fedem", "options": {"components": 2}, "rounds": 2}],
    ids=["some clients", "clients that remember"],
)
def test_the_model_is_that_of_a_run_without_secrets(federation, slow_town, tmp_path, values):
    here, there = simulated(federation, **values), served(slow_town, tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-5
    assert there.events() == []
    assert "train_loss" not in there.metrics()
    np.testing.assert_allclose(there.metrics()["test_accuracy"], here.metrics()["test_accuracy"], atol=1e-6)


def test_what_leaves_a_node_says_nothing_of_its_upload(federation, town, tmp_path):
    uploads, answers = {}, dict(town.answers)

    def varied(request, name):
        given = answers[name](request)
        if given.kind == "upload":
            rng = np.random.default_rng(len(name) + len(uploads))
            drawn = {k: rng.normal(size=v.shape).astype(np.float32) for k, v in given.arrays.items()}
            uploads[name] = upload_vector({k.removeprefix("upload/"): v for k, v in drawn.items()}, 64.0)
            return WireMessage("upload", given.numbers, drawn)
        return given

    town.answers = {name: lambda request, name=name: varied(request, name) for name in answers}
    run = served(town, tmp_path / "run", rounds=1)
    masked = {}
    for name, stage, reply in town.passed:
        assert not any(reply.content.array_records.values())  # no upload in the open
        if stage == MASKED:
            masked[name] = bytes_to_ndarray(reply.content[RECORD_KEY_CONFIGS][Key.MASKED_PARAMETERS][1])
    assert set(masked) == set(uploads) == set(town.workers)
    for name, vector in masked.items():
        assert abs(np.corrcoef(vector, uploads[name])[0, 1]) < 5 / np.sqrt(len(vector))
        assert abs(vector.mean() / 2**32 - 0.5) < 5 / np.sqrt(12 * len(vector))  # uniform
    rows = [uploads[name] for name in town.workers]
    mean = np.average(rows, axis=0, weights=federation.train.sizes)[1:]
    model = np.concatenate([np.ravel(run.message[name]) for name in sorted(run.message)])
    assert np.abs(model - mean).max() < 1e-5 * np.abs(mean).max()


@pytest.mark.parametrize("stage", [SETUP, SHARES, MASKED])
@pytest.mark.parametrize("how", [None, "out of memory"], ids=["silently", "with an error"])
def test_a_client_that_leaves_before_its_upload_is_in_is_left_out(federation, town, tmp_path, stage, how):
    town.tricks["node-1"] = lambda now, reply: how if now == stage else reply
    run = served(town, tmp_path / "run", rounds=1, patience=0.15)
    assert abs(moved(run) - expected(federation, [0, 2, 3])) < 1e-6
    assert run.memories.last.tolist() == [0, -1, 0, 0]
    assert run.metrics()["rejected"][1:].tolist() == [1]
    (event,) = said(run, "dropped out")
    assert event["client"] == 1
    assert event["reason"].startswith(how or f"no answer in the stage {stage!r}")


def test_clients_may_leave_in_different_stages(federation, tmp_path, town):
    more = unalike.load("digits", clients=7, partition="iid", samples=200, seed=1)
    seven = Town(more, tmp_path / "seven")
    seven.answers = {name: quick(seven, node) for node, name in enumerate(seven.workers)}
    for name, stage in (("node-0", SETUP), ("node-3", SHARES), ("node-6", MASKED)):
        seven.tricks[name] = lambda now, reply, stage=stage: None if now == stage else reply
    run = served(seven, tmp_path / "run", rounds=1, patience=0.15)
    assert said(run, "no secure sum") == []
    assert run.memories.last.tolist() == [-1, 0, 0, -1, 0, 0, -1]
    assert abs(moved(run) - expected(more, [1, 2, 4, 5])) < 1e-6


def test_a_client_that_leaves_after_its_upload_is_in_counts(federation, town, tmp_path):
    town.tricks["node-1"] = lambda stage, reply: None if stage == UNMASK else reply
    run = served(town, tmp_path / "run", rounds=1, patience=0.15)
    assert abs(moved(run) - expected(federation, range(4))) < 1e-6
    assert run.memories.last.tolist() == [0, 0, 0, 0]


def test_a_round_that_too_many_leave_changes_nothing_and_the_next_goes_on(federation, town, tmp_path):
    left = []

    def leaves(stage, reply):
        if stage != MASKED or len(left) == 2:
            return reply
        return left.append(stage)

    town.tricks |= {"node-0": leaves, "node-2": leaves}
    run = served(town, tmp_path / "run", rounds=2, patience=0.15)
    assert abs(moved(run) - expected(federation, range(4))) < 1e-6
    assert [event["round"] for event in said(run, "no secure sum")] == [1]
    assert run.metrics()["rejected"][1:].tolist() == [4, 0]


def test_who_is_away_is_not_waited_for(federation, town, tmp_path):
    town.tricks["node-2"] = lambda stage, reply: town.away.add("node-2") if stage == UNMASK else reply
    run = served(town, tmp_path / "run", rounds=2, patience=0.15)
    assert run.metrics()["participants"][1:].tolist() == [4, 3]
    assert ("train", 2) in [(e["errand"], e["client"]) for e in said(run, "client away")]
    share = 1 - federation.importance[2]  # who is away leaves its weight with the old model
    both = expected(federation, range(4)) + share * expected(federation, [0, 1, 3])
    assert abs(moved(run) - both) < 1e-6


def spoilt(answer, value):
    def other(request):
        given = answer(request)
        bad = {name: np.full_like(array, value) for name, array in given.arrays.items()}
        return WireMessage(given.kind, given.numbers, bad)

    return other


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN or infinite"), (1e6, "go up to 64")])
def test_a_client_whose_values_do_not_fit_drops_out_by_itself(town, tmp_path, value, words):
    town.answers["node-2"] = spoilt(town.answers["node-2"], value)
    run = served(town, tmp_path / "run", rounds=1)
    (event,) = said(run, "dropped out")
    assert event["client"] == 2
    assert words in event["reason"]
    assert run.memories.last.tolist() == [0, 0, -1, 0]


def another_node(stage, reply):
    reply.metadata.__dict__["_src_node_id"] = 0
    return reply


def no_record(stage, reply):
    reply.content.pop(RECORD_KEY_CONFIGS)
    return reply


def same_keys(stage, reply):
    record = reply.content[RECORD_KEY_CONFIGS]
    if stage == SETUP:
        record[Key.PUBLIC_KEY_2] = record[Key.PUBLIC_KEY_1]
    return reply


def huge_vector(stage, reply):
    if stage == MASKED:
        factor, vector = reply.content[RECORD_KEY_CONFIGS][Key.MASKED_PARAMETERS]
        huge = vector.replace(b"(651,)", b"(9e9,)") if b"(651,)" in vector else vector[:128]
        reply.content[RECORD_KEY_CONFIGS] = ConfigRecord({Key.MASKED_PARAMETERS: [factor, huge]})
    return reply


def other_length(stage, reply):
    if stage == MASKED:
        short = [ndarray_to_bytes(np.zeros(1, np.int64)), ndarray_to_bytes(np.zeros(3, np.int64))]
        reply.content[RECORD_KEY_CONFIGS] = ConfigRecord({Key.MASKED_PARAMETERS: short})
    return reply


@pytest.mark.parametrize("trick", [another_node, no_record, same_keys, huge_vector, other_length])
def test_a_reply_that_is_none_drops_out_alone(town, tmp_path, trick):
    town.tricks["node-3"] = trick
    run = served(town, tmp_path / "run", rounds=1, patience=0.15)
    assert run.metrics()["rejected"][1:].tolist() == [1]
    assert {event["client"] for event in said(run, "dropped out")} == {3}


def false_shares(stage, reply):
    if stage == UNMASK:
        record = reply.content[RECORD_KEY_CONFIGS]
        record[Key.SHARE_LIST] = [share[:4] + bytes(len(share) - 4) for share in record[Key.SHARE_LIST]]
    return reply


def false_masks(stage, reply):
    if stage == MASKED:
        factor, vector = reply.content[RECORD_KEY_CONFIGS][Key.MASKED_PARAMETERS]
        noise = np.random.default_rng(0).integers(2**32, size=bytes_to_ndarray(vector).shape)
        both = [factor, ndarray_to_bytes(noise)]
        reply.content[RECORD_KEY_CONFIGS] = ConfigRecord({Key.MASKED_PARAMETERS: both})
    return reply


@pytest.mark.parametrize("trick", [false_shares, false_masks])
def test_a_sum_that_somebody_spoiled_is_not_believed(town, federation, tmp_path, trick):
    rounds = []

    def spoil_first_round(stage, reply):
        rounds.extend([stage] if stage == SETUP else [])
        return trick(stage, reply) if len(rounds) == 1 else reply

    town.tricks["node-3"] = spoil_first_round
    run = served(town, tmp_path / "run", rounds=2)
    assert len(said(run, "no secure sum")) == 1
    assert abs(moved(run) - expected(federation, range(4))) < 1e-4  # of the second round alone
    town.tricks["node-3"] = trick
    with pytest.raises(unalike.UnalikeError, match="no node has trained, so there is no model"):
        served(town, tmp_path / "spoiled", rounds=1)


def test_noise_can_be_added_to_a_sum_that_nobody_sees_the_parts_of(town, tmp_path):
    privacy = CentralPrivacy(0.05, 1e-6, Ledger(4))
    run = served(town, tmp_path / "run", rounds=1, aggregator=privacy)
    length = np.sqrt(sum(np.square(leaf).sum() for leaf in run.message.values()))
    assert abs(length - 0.05) < 1e-5  # everyone moved in the same direction, by more than that
    assert privacy.ledger.releases == 1


@pytest.mark.parametrize(
    "aggregator", [NormBound(1.0), Median(), Monitor(MonitorState(4))], ids=lambda a: type(a).__name__
)
def test_what_needs_single_uploads_is_refused_with_the_reason(town, tmp_path, aggregator):
    name = type(aggregator).__name__
    with pytest.raises(unalike.ConfigError, match=f"hides single uploads, but {name} cannot: it looks at"):
        served(town, tmp_path / "run", rounds=1, aggregator=aggregator)


@pytest.mark.parametrize(
    ("values", "who", "words"),
    [
        ({"algorithm": "scaffold"}, Full(), "scaffold needs a second one, by importance"),
        ({"algorithm": "clustered-fl"}, Full(), "looks at every client's upload"),
        ({"algorithm": "dpasgd"}, Full(), "needs a server"),
        ({"timing": "fedbuff:2"}, Full(), "results come one by one; choose synchronous"),
        ({}, Uniform(per_round=2), "at least 3, not 2"),
    ],
    ids=["two sums", "single uploads", "no server", "one by one", "few"],
)
def test_what_cannot_be_done_in_secret_is_refused(values, who, words):
    described = experiment(**values)
    with pytest.raises(unalike.ConfigError, match=words):
        check_secure(described.algorithm, make_algorithm(described), who, described.timing, 5)


def test_samplers_that_look_at_single_clients_are_refused():
    curious = sampler_registry.make("clustered-similarity", per_round=3)
    with pytest.raises(unalike.ConfigError, match="chooses by it"):
        check_secure("fedavg", make_algorithm(experiment()), curious, "synchronous", 5)


def setup(**changes):
    said = {Key.SAMPLE_NUMBER: 3, Key.SHARE_NUMBER: 3, Key.THRESHOLD: 2, Key.CLIPPING_RANGE: 64.0}
    said |= {Key.TARGET_RANGE: 2**30, Key.MOD_RANGE: 2**32, Key.MAX_WEIGHT: 1.0, Key.STAGE: SETUP}
    return RecordDict({RECORD_KEY_CONFIGS: ConfigRecord({**said, **changes})})


def asked(town, content):
    return town.apps["node-0"](Message(content, dst_node_id=0, message_type="train"), town.contexts["node-0"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({Key.SAMPLE_NUMBER: 2}, "asks 2 clients"),
        ({Key.THRESHOLD: 1}, "any 1 of 3"),
        ({Key.THRESHOLD: "all"}, "malformed"),
        ({Key.MOD_RANGE: 2}, "below 4294967296"),
    ],
)
def test_a_node_refuses_a_set_up_that_would_not_protect_it(town, changes, words):
    assert asked(town, setup()).has_content()
    with pytest.raises(MessageError, match=words):
        asked(town, setup(**changes))


def test_a_node_does_not_reveal_both_secrets_of_a_node(town):
    said = {Key.STAGE: UNMASK, Key.ACTIVE_NODE_ID_LIST: [0, 1], Key.DEAD_NODE_ID_LIST: [1]}
    with pytest.raises(MessageError, match="present and gone"):
        asked(town, RecordDict({RECORD_KEY_CONFIGS: ConfigRecord(said)}))


def test_a_node_can_insist_on_secrecy(federation, tmp_path, slow_town):
    strict = Town(federation, tmp_path / "strict", only=True)
    content = pack(WireMessage("train", {"protocol": PROTOCOL}))
    refusal = unpack(asked(strict, content).content)
    assert refusal.kind == "refusal"
    assert "by secure aggregation only" in refusal.numbers["reason"]
    answer = unpack(asked(strict, pack(WireMessage("introduce", {"protocol": PROTOCOL}))).content)
    assert answer.kind == "introduction"
    assert unpack(asked(slow_town, content).content).kind == "refusal"  # it would have trained


@pytest.mark.parametrize("clients", [3, 4, 7, 8, 100, 1000])
def test_sums_of_so_many_clients_fit_in_32_bits(clients):
    assert clients * levels(clients) < 2**32 <= 4 * clients * levels(clients)


def test_weights_and_ranges_keep_what_matters():
    weights = np.array([0.5, 0.3, 0.2])
    whole = whole_weights(weights)
    np.testing.assert_allclose(whole / whole.sum(), weights, atol=1e-6)
    assert whole.max() == HEAVIEST
    assert whole_weights(np.zeros(2)).tolist() == [0, 0]
    assert reach([np.zeros(3)]) == 64
    assert reach([np.array([-100.0])]) == 512


def test_a_reply_from_elsewhere_is_named(town):
    reply = Message(
        Error(1, "no memory"), reply_to=Message(RecordDict(), dst_node_id=7, message_type="train")
    )
    assert fault(reply, SentMessage(7, SETUP), 3) == "no memory"


def test_secrets_of_many_clients_are_shared_among_neighbors_only(tmp_path, slow_town, monkeypatch):
    monkeypatch.setattr("unalike.privacy.secure_aggregation.MOST_SHARES", 5)
    more = unalike.load("digits", clients=9, partition="iid", samples=200, seed=1)
    nine = Town(more, tmp_path / "nine")
    nine.answers = {name: quick(nine, node) for node, name in enumerate(nine.workers)}
    for name, stage in (("node-0", SHARES), ("node-4", MASKED)):
        nine.tricks[name] = lambda now, reply, stage=stage: "gone" if now == stage else reply
    run = served(nine, tmp_path / "run", rounds=1, patience=2.0)
    assert said(run, "no secure sum") == []
    assert abs(moved(run) - expected(more, [1, 2, 3, 5, 6, 7, 8])) < 1e-6
    shared = [r for name, stage, r in nine.passed if stage == SHARES and name == "node-5"]
    assert len(shared[0].content[RECORD_KEY_CONFIGS][Key.DESTINATION_LIST]) == 4
