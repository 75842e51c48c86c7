"""Is what a client adds bounded, is the noise as large as it must be, and is what it costs counted?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike.deploy.protection import Protection
from unalike.deploy.server import gather_federation, introductions, make_contracts, make_folder, run_name
from unalike.deploy.transport.mailbox import Mailbox
from unalike.deploy.transport.messages import WireMessage
from unalike.engine import Setting
from unalike.experiments.build import make_algorithm, make_task
from unalike.participation import Full, Uniform, sampler_registry
from unalike.privacy.accountant import Ledger, gaussian_epsilon
from unalike.privacy.local import LocalPrivacy, local_privacy, upload_delta
from unalike.timing import Step, WaitForAll, timing_registry
from unalike.training.train import train

from ..deploy.in_process_nodes import Village, experiment

pytest.importorskip("flwr")

from flwr.supercore.differential_privacy import compute_stdv

from unalike.aggregation.base import WeightedSum
from unalike.algorithms import Reply
from unalike.deploy.client.local_privacy import private_answers
from unalike.deploy.engine import FlowerEngine
from unalike.privacy.central import CentralPrivacy, central_privacy, check_private
from unalike.privacy.clipping import clip_arrays, fresh_noise

SILENT = 1e-9
"""A noise multiplier that changes nothing."""


class Moving(Village):
    """Nodes that do not train: node i moves every entry of the model by i + 1."""

    def __init__(self, federation, folder):
        super().__init__(federation, folder)
        for node, worker in enumerate(self.workers.values()):
            worker.answer = self._answers(node, worker.answer)

    def _answers(self, node, honest):
        def answer(request):
            if request.kind == "introduce":
                return honest(request)
            model = {name.removeprefix("message/"): a for name, a in request.arrays.items()}
            if request.kind == "evaluate":
                return WireMessage("metrics", {"samples": 1.0, "loss": 1.0, "accuracy": 0.5})
            moved = {f"upload/{name}": array + np.float32(node + 1) for name, array in model.items()}
            return WireMessage("upload", {"job": request.numbers["job"]}, moved)

        return answer


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=3, partition="dirichlet:0.5", samples=200, seed=1)


@pytest.fixture
def village(federation, tmp_path):
    return Moving(federation, tmp_path / "nodes")


def served(village, folder, privacy, timing=None, participation=None, **values):
    described = experiment(**values)
    told = introductions(village, 3, 5.0, lambda line: None)
    federation = gather_federation(told, described)
    task, algorithm = make_task(described, federation), make_algorithm(described)
    opened = make_folder(described, folder, False)
    ready = algorithm.prepare(task, federation)
    setting = Setting(federation, task, ready, described.seed, aggregator=privacy or WeightedSum())
    contracts = make_contracts(described, federation, run_name(opened))
    engine = FlowerEngine(setting, Mailbox(village, list(told)), contracts, 5.0)
    return train(
        federation,
        task,
        algorithm,
        rounds=described.rounds_to_train,
        seed=described.seed,
        participation=participation or Full(),
        timing=timing or WaitForAll(),
        engine=engine,
        out=opened,
    )


def values(run):
    return np.concatenate([np.ravel(leaf) for leaf in run.message.values()]).astype(np.float64)


def test_no_client_moves_the_model_by_more_than_the_clipping_norm(village, tmp_path):
    run = served(village, tmp_path / "run", CentralPrivacy(0.5, SILENT, Ledger(3)), rounds=1)
    assert abs(np.linalg.norm(values(run)) - 0.5) < 1e-5  # all move in one direction, each too far


def test_results_that_start_from_older_models_are_clipped_from_there(village, tmp_path):
    village.mischief["node-1"] = lambda request, answer: 0.3 if request.kind == "train" else answer
    privacy = CentralPrivacy(0.5, SILENT, Ledger(3))
    run = served(village, tmp_path / "run", privacy, timing_registry.make("async"), rounds=6)
    weights = run.record.groups("weights")
    steps = sum(float(np.sum(weights[number])) for number in weights)
    assert abs(np.linalg.norm(values(run)) - 0.5 * steps) < 1e-4
    assert privacy.ledger.releases == 6


def test_the_noise_is_that_of_the_largest_weight(village, federation, tmp_path):
    privacy = CentralPrivacy(1e-6, 2e6, Ledger(3))
    run = served(village, tmp_path / "run", privacy, rounds=1)
    largest = federation.train.sizes.max() / federation.train.sizes.sum()
    found = values(run)
    assert abs(found.std() / (2 * largest) - 1) < 4 / np.sqrt(2 * len(found))
    assert abs(found.mean()) < 4 * 2 * largest / np.sqrt(len(found))


@pytest.mark.parametrize("clients", [1, 3, 10])
def test_with_equal_weights_the_noise_is_flowers(clients):
    privacy = CentralPrivacy(0.7, 1.3, Ledger(clients))
    assert privacy.deviation(1 / clients) == pytest.approx(compute_stdv(1.3, 0.7, clients))


def test_between_real_clients_the_noise_does_not_come_from_a_seed(village, tmp_path):
    runs = [served(village, tmp_path / str(k), CentralPrivacy(1.0, 1.0, Ledger(3)), rounds=1) for k in (0, 1)]
    assert not np.array_equal(*map(values, runs))


def test_a_simulation_draws_its_noise_from_the_seed_and_counts_what_is_spent(federation):
    described = experiment(rounds=3)
    task, runs = make_task(described, federation), []
    for seed in (0, 0, 1):
        privacy = CentralPrivacy(0.3, 1.5, Ledger(3))
        runs.append(train(federation, task, unalike.FedAvg(), rounds=3, seed=seed, aggregator=privacy))
        assert privacy.ledger.releases == 3
    one, same, other = map(values, runs)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert runs[0].metrics()["epsilon"][-1] == pytest.approx(privacy.ledger.epsilon())


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_simulated_noise_has_the_deviation_that_it_should(federation, engine):
    task = make_task(experiment(), federation)
    privacy = CentralPrivacy(1e-6, 2e6, Ledger(3))
    run = train(federation, task, unalike.FedAvg(), rounds=1, aggregator=privacy, engine=engine)
    start = train(federation, task, unalike.FedAvg(), rounds=0)
    found, largest = values(run) - values(start), federation.importance.max()
    assert abs(found.std() / (2 * largest) - 1) < 4 / np.sqrt(2 * len(found))


def test_a_resumed_simulation_has_spent_what_it_would_have_spent(federation, tmp_path):
    task, spent = make_task(experiment(), federation), []
    for stop in (None, 2):
        folder = tmp_path / str(stop)
        if stop:
            first = CentralPrivacy(0.3, 1.5, Ledger(3))
            train(
                federation, task, unalike.FedAvg(), rounds=stop, aggregator=first, out=folder
            ).folder.close()
        privacy = CentralPrivacy(0.3, 1.5, Ledger(3))
        options = {"aggregator": privacy, "out": folder, "resume": bool(stop)}
        run = train(federation, task, unalike.FedAvg(), rounds=5, **options)
        spent.append((privacy.ledger.charges.tolist(), values(run).tolist()))
    assert spent[0] == spent[1]


def test_fresh_noise_leaves_the_generator_as_it_was_even_after_an_error():
    before = np.random.get_state()[1].copy()
    with pytest.raises(RuntimeError), fresh_noise():
        raise RuntimeError
    assert np.array_equal(np.random.get_state()[1], before)


def test_clipping_keeps_the_direction_and_short_changes():
    start = {"a": np.full(4, 2.0, np.float32), "b": np.zeros((2, 2), np.float32)}
    far = {name: array + np.float32(3) for name, array in start.items()}
    clipped = clip_arrays(far, start, 1.0)
    change = np.concatenate([np.ravel(clipped[name] - start[name]) for name in start])
    np.testing.assert_allclose(change, 8**-0.5, rtol=1e-6)
    assert {array.dtype for array in clipped.values()} == {np.dtype(np.float32)}
    for kept in (start, {name: array + np.float32(0.1) for name, array in start.items()}):
        same = clip_arrays(kept, start, 1.0)
        assert all(np.array_equal(same[name], kept[name]) for name in start)
    with pytest.raises(unalike.ConfigError, match="shapes of messages"):
        clip_arrays({"a": np.zeros(2)}, start, 1.0)


# What it costs ----------------------------------------------------------------------------------------------


def test_a_client_pays_for_the_rounds_it_takes_part_in(village, tmp_path):
    privacy = CentralPrivacy(0.1, 2.0, Ledger(3))
    served(
        village,
        tmp_path / "run",
        privacy,
        participation=sampler_registry.make("uniform", per_round=1),
        rounds=8,
    )
    assert privacy.ledger.releases == 8
    assert privacy.ledger.charges.sum() == pytest.approx(8 / 4)  # alone, each has the largest weight


def test_a_lighter_client_pays_less():
    ledger = Ledger(3)
    step = Step(0, np.array([0, 2]), np.zeros(2), np.array([0.2, 0.1]))
    CentralPrivacy(1.0, 2.0, ledger).observe(step, {"accepted": np.ones(2)})
    np.testing.assert_allclose(ledger.charges, [1 / 4, 0, 1 / 16])


def test_what_was_spent_before_a_crash_is_remembered():
    kept = []
    ledger, other = Ledger(2, save=kept.append), Ledger(2)
    ledger.charge(np.array([1]), np.array([0.5]))
    other.restore(kept[-1])
    assert (other.charges.tolist(), other.releases) == ([0, 0.25], 1)
    with pytest.raises(unalike.errors.RunError, match="for 2 clients, not 3"):
        Ledger(3).restore(kept[-1])


def test_epsilon_is_recorded(village, tmp_path):
    run = served(village, tmp_path / "run", CentralPrivacy(0.1, 2.0, Ledger(3)), rounds=3)
    spent = run.metrics()["epsilon"][1:]
    assert (np.diff(spent) > 0).all()
    assert spent[-1] == pytest.approx(gaussian_epsilon(2 / np.sqrt(3), 1e-5))


def test_epsilon_is_the_smallest_that_keeps_delta():
    for multiplier in (0.5, 1.0, 4.0):
        epsilon = gaussian_epsilon(multiplier, 1e-5)
        assert upload_delta(epsilon, multiplier) <= 1e-5 < upload_delta(0.9999 * epsilon, multiplier)


def test_nothing_spent_is_nothing():
    assert Ledger(2).epsilon() == 0


# What is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "who", "words"),
    [
        ("scaffold", Full(), "central privacy gives one weighted sum, but scaffold needs a second"),
        ("clustered-fl", Full(), "clustered-fl looks at every client's upload"),
        ("dpasgd", Full(), "dpasgd has none"),
        ("fedavg", sampler_registry.make("power-of-choice:3", per_round=2), "chooses by it"),
    ],
    ids=["two sums", "single uploads", "no server", "asks"],
)
def test_what_would_show_more_than_the_sum_is_refused(name, who, words):
    with pytest.raises(unalike.ConfigError, match=words):
        check_private("central privacy", name, make_algorithm(experiment(algorithm=name)), who)


def checked(message, reply):
    CentralPrivacy(1.0, 1.0, Ledger(3)).check(unalike.FedAvg(), Full(), message, reply)


def test_uploads_of_other_shapes_are_refused(village, tmp_path):
    with pytest.raises(unalike.ConfigError, match="uploads have other shapes than its messages"):
        checked({"w": np.zeros(3)}, Reply({"w": np.zeros((2, 3))}))
    counts = {"w": np.zeros(3, np.int32)}
    with pytest.raises(unalike.ConfigError, match="noise to real numbers"):
        checked(counts, Reply(counts))
    model = {"w": np.zeros(3)}
    with pytest.raises(unalike.ConfigError, match="they say it themselves"):
        checked(model, Reply(model, weight=np.ones(())))
    check_private("central privacy", "fedavg", make_algorithm(experiment()), Uniform(per_round=2))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("1", "'1' is not of the form CLIP,NOISE or CLIP,NOISE,DELTA, such as 1,0.8."),
        ("one,two", "'one,two' is not of the form CLIP,NOISE or CLIP,NOISE,DELTA, such as 1,0.8."),
        ("0,1", "the clipping norm of central privacy must be above 0, but is 0."),
        ("1,-1", "the noise multiplier of central privacy must be above 0, but is -1."),
        ("1,1,2", "delta must lie between 0 and 1, but is 2."),
    ],
)
def test_central_privacy_of_nonsense_says_what_is_wrong(words, reason):
    with pytest.raises(unalike.ConfigError) as caught:
        central_privacy(words, 3, print)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("1,1", "'1,1' is not of the form CLIP,EPSILON,DELTA, such as 1,0.5,1e-5."),
        ("0,1,0.1", "the clipping norm of local privacy must be above 0, but is 0."),
        ("1,0,0.1", "local privacy needs an epsilon above 0 and a delta between 0 and 1, but they are 0 and"),
        (
            "1,1,1",
            "local privacy needs an epsilon above 0 and a delta between 0 and 1, but they are 1 and 1.",
        ),
        ("1,20,1e-5", "the noise for epsilon 20 would not keep delta 1e-05; choose a smaller epsilon"),
    ],
)
def test_local_privacy_of_nonsense_says_what_is_wrong(words, reason):
    with pytest.raises(unalike.ConfigError) as caught:
        local_privacy(words)
    assert str(caught.value).startswith(reason)


# Runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protection", "settings", "words"),
    [
        (Protection(True), {"timing": "fedbuff:2"}, "results come one by one"),
        (Protection(True), {"per_round": 2}, "at least 3, not 2"),
        (Protection(central="1"), {}, "CLIP,NOISE"),
        (Protection(central="1,1"), {"algorithm": "scaffold"}, "central privacy gives one weighted sum"),
        (Protection(True), {"algorithm": "scaffold"}, "secure aggregation gives one weighted sum"),
    ],
    ids=["timing", "few", "form", "two noisy sums", "two secret sums"],
)
def test_what_cannot_be_protected_is_refused_before_anybody_comes(protection, settings, words):
    with pytest.raises(unalike.ConfigError, match=words):
        protection.check(experiment(**settings), 4)
    Protection().check(experiment(**settings), 2)


def made(village, protection, folder, resume=False):
    described = experiment()
    told = introductions(village, 3, 5.0, lambda line: None)
    federation = gather_federation(told, described)
    opened = make_folder(described, folder, resume)
    task, algorithm = make_task(described, federation), make_algorithm(described)
    setting = Setting(federation, task, algorithm, described.seed)
    contracts = make_contracts(described, federation, run_name(opened))
    mailbox = Mailbox(village, list(told))
    return protection.engine(setting, mailbox, contracts, 5.0, list, opened.record), opened


def test_a_run_that_goes_on_keeps_its_protection_and_what_it_has_spent(village, tmp_path):
    engine, opened = made(village, Protection(True, "1,2"), tmp_path / "run")
    assert type(engine).__name__ == "SecureEngine"
    engine.setting.aggregator.ledger.charge(np.array([0]), np.array([0.5]))
    opened.close()
    with pytest.raises(unalike.ConfigError) as caught:
        made(village, Protection(), tmp_path / "run", resume=True)
    assert str(caught.value) == (
        "this run was begun with --secure-aggregation --central-dp 1,2; go on with the same, not with no "
        "protection."
    )
    again, _ = made(village, Protection(True, "1,2"), tmp_path / "run", resume=True)
    assert again.setting.aggregator.ledger.charges.tolist() == [0.25, 0, 0]


def test_without_protection_the_engine_is_the_plain_one(village, tmp_path):
    engine, _ = made(village, Protection(), tmp_path / "run")
    assert type(engine) is FlowerEngine
    assert engine.setting.aggregator == WeightedSum()


# Local ------------------------------------------------------------------------------------------------------


def request_and_answer(kind="upload", shape=(4000,)):
    request = WireMessage("train", {}, {"message/w": np.ones(4000, np.float32)})
    arrays = {"upload/w": np.full(shape, 5, np.float32), "report/train_loss": np.ones(())}
    return request, lambda given: WireMessage(kind, {"job": 1}, arrays)


def test_a_nodes_own_noise_hides_its_clipped_change_and_its_reports():
    request, answer = request_and_answer()
    privacy = LocalPrivacy(1.0, 0.5, 1e-5, entropy=lambda: 3)
    given = private_answers(answer, privacy)(request)
    noise = given.arrays["upload/w"] - (1 + 4000**-0.5)
    assert set(given.arrays) == {"upload/w"}
    assert given.numbers == {"job": 1}
    assert abs(noise.std() / privacy.deviation - 1) < 4 / np.sqrt(2 * 4000)
    assert privacy.deviation == pytest.approx(2 * np.sqrt(2 * np.log(1.25e5)) / 0.5)
    assert replace(privacy, sensitivity=1.0).deviation == privacy.deviation / 2


def test_a_nodes_own_noise_is_new_each_time():
    request, answer = request_and_answer()
    private = private_answers(answer, LocalPrivacy(1.0, 0.5, 1e-5))
    assert not np.array_equal(private(request).arrays["upload/w"], private(request).arrays["upload/w"])


def test_other_answers_pass_and_other_shapes_are_refused():
    request, answer = request_and_answer("metrics")
    privacy = LocalPrivacy(1.0, 0.5, 1e-5)
    assert private_answers(answer, privacy)(request) == answer(request)
    request, answer = request_and_answer(shape=(3,))
    given = private_answers(answer, privacy)(request)
    assert given.kind == "refusal"
    assert "keeps local privacy" in given.numbers["reason"]


def test_the_server_need_not_know_of_local_privacy(village, tmp_path):
    worker = village.workers["node-1"]
    worker.answer = private_answers(worker.answer, LocalPrivacy(1e-3, 0.9, 1e-5))
    run = served(village, tmp_path / "run", None, rounds=1)
    assert run.metrics()["rejected"][1:].tolist() == [0]
    assert np.ptp(values(run)) > 1e-4


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_formula_of_the_noise_keeps_its_promise_up_to_one(epsilon, delta):
    multiplier = np.sqrt(2 * np.log(1.25 / delta)) / epsilon
    assert 0 < upload_delta(epsilon, multiplier) <= delta
