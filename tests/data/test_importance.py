"""Do clients count as they were told to, in every federation that is made from another?"""

from pathlib import Path

import numpy as np
import pytest

from unalike import ConfigError, DataError, FedAvg, Federation, LocalWork, Task, models, train
from unalike.data.importance import check_importance, importance_of, read_importance
from unalike.experiments.build import make_federation
from unalike.experiments.config import make_experiment
from unalike.participation import Full, PowerOfChoice, RoundContext

SIZES = np.array([2, 3, 5])
GIVEN = np.array([0.5, 0.125, 0.375])


@pytest.fixture
def federation():
    """Three clients of 2, 3 and 5 rows."""
    rows = np.arange(10.0)[:, None]
    return Federation.from_owners(rows, np.arange(10) % 2, np.repeat(np.arange(3), SIZES), names="abc")


# Policies.


def test_policies_are_shares_of_rows_or_equal():
    assert np.allclose(importance_of("data", SIZES), [0.2, 0.3, 0.5])
    assert np.allclose(importance_of("equal", SIZES), 1 / 3)


@pytest.mark.parametrize("given", [GIVEN, GIVEN.tolist(), tuple(GIVEN), [1, 0, 0]])
def test_given_numbers_are_taken_as_they_are(given):
    assert np.array_equal(importance_of(given, SIZES), np.asarray(given, float))


@pytest.mark.parametrize(
    "text", ["0.5 0.125 0.375", "0.5,0.125,0.375\n", "5e-1\n1.25e-1\r\n0.375\n\n", " .5 ,.125 ,.375,"]
)
def test_a_file_holds_numbers_however_they_are_separated(tmp_path, text):
    path = tmp_path / "importance.txt"
    path.write_text(text)
    assert np.array_equal(read_importance(path), GIVEN)
    assert np.array_equal(importance_of(str(path), SIZES), GIVEN)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0.5, 0.5], r"one number per client \(3\), but has shape \(2,\)"),
        ([], r"one number per client \(3\), but has shape \(0,\)"),
        (1.0, r"one number per client \(3\), but has shape \(\)"),
        ([[0.5, 0.25, 0.25]], r"one number per client \(3\), but has shape \(1, 3\)"),
        ([0.5, -0.25, 0.75], "must not be negative or missing, but is -0.25 for client 1"),
        ([0.5, 0.5, np.nan], "must not be negative or missing, but is nan for client 2"),
        ([np.inf, 0.5, 0.5], "must not be negative or missing, but is inf for client 0"),
        ([0.5, 0.5, 0.5], "must sum to one, but sums to 1.5"),
        ([0.0, 0.0, 0.0], "must sum to one, but sums to 0"),
    ],
)
def test_wrong_numbers_are_refused_in_one_sentence(federation, given, words):
    for attempt in (importance_of, lambda policy, _: federation.with_importance(policy)):
        with pytest.raises(ConfigError, match=words) as refusal:
            attempt(given, SIZES)
        assert "\n" not in str(refusal.value)


def test_without_a_number_of_clients_any_number_will_do():
    assert np.array_equal(check_importance(np.array([0.5, 0.5])), [0.5, 0.5])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"0.5 half 0.5", "must hold one number per client .*half"),
        (b"", r"one number per client \(3\), but has shape \(0,\)"),
        (b"0.5 0.5", r"but has shape \(2,\)"),
        (b"\xff\xfe\x00", "a file of numbers"),
        (None, "importance must be data, equal, similarity, or a file of numbers"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "importance.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as refusal:
        importance_of(str(path), SIZES)
    assert "\n" not in str(refusal.value)


def test_a_folder_or_a_misspelt_policy_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for policy in (str(tmp_path), "eqal"):
        with pytest.raises(
            ConfigError, match="importance must be data, equal, similarity, or a file of numbers"
        ):
            importance_of(policy, SIZES)


@pytest.mark.parametrize("given", [["much", "little", "none"], [[0.5], [0.25, 0.25], []]])
def test_what_are_no_numbers_is_refused_as_a_mistake_of_the_user(federation, given):
    with pytest.raises(ConfigError, match="importance needs one number per client"):
        federation.with_importance(given)


def test_a_path_is_a_file_too(federation, tmp_path):
    path = Path(tmp_path / "importance.txt")
    path.write_text("0.5 0.125 0.375")
    assert np.array_equal(federation.with_importance(path).importance, GIVEN)


def test_numbers_that_pass_can_be_drawn_with():
    """Seven digits, as a person writes a third."""
    importance = importance_of([0.3333333, 0.3333333, 0.3333333], SIZES)
    asked = RoundContext(0, importance, ask=lambda question, clients: np.ones(len(clients)))
    cohort = PowerOfChoice(per_round=1).cohort(asked)
    assert len(cohort.clients) == 1
    assert cohort.clients[0] in range(3)


# Federations.


def test_a_federation_counts_rows_unless_told_otherwise(federation):
    assert federation.given_importance is None
    assert np.allclose(federation.importance, [0.2, 0.3, 0.5])


def test_with_importance_changes_nothing_else_and_not_the_federation_itself(federation):
    other = federation.with_importance(GIVEN)
    assert np.array_equal(other.importance, GIVEN)
    assert other.train is federation.train
    assert other.names == federation.names
    assert federation.given_importance is None


def test_by_data_forgets_what_was_given(federation):
    again = federation.with_importance(GIVEN).with_importance("data")
    assert again.given_importance is None
    assert np.allclose(again.importance, [0.2, 0.3, 0.5])


def test_equal_importance_stays_equal_among_fewer_clients(federation):
    assert np.allclose(federation.with_importance("equal").subset([2, 0]).importance, [0.5, 0.5])


def test_a_subset_keeps_the_proportions_in_its_own_order(federation):
    some = federation.with_importance(GIVEN).subset([2, 0])
    assert np.allclose(some.importance, [0.375 / 0.875, 0.5 / 0.875])
    assert some.importance.sum() == pytest.approx(1.0)
    assert np.allclose(federation.subset([2, 0]).importance, [5 / 7, 2 / 7])


def test_a_subset_of_clients_that_do_not_count_is_refused(federation):
    with np.errstate(invalid="ignore"), pytest.raises((ConfigError, DataError)):
        federation.with_importance([1.0, 0.0, 0.0]).subset([1, 2])


def test_new_splits_do_not_change_what_was_given(federation):
    split = federation.with_importance(GIVEN).with_split(0.3, seed=1)
    assert np.array_equal(split.importance, GIVEN)


def test_a_federation_does_not_change_with_the_array_it_was_given(federation):
    mine = GIVEN.copy()
    other = federation.with_importance(mine)
    mine[:] = [0.0, 0.0, 1.0]
    assert np.array_equal(other.importance, GIVEN)


# On disk.


@pytest.mark.parametrize("mmap", [True, False])
def test_given_importance_survives_saving(federation, tmp_path, mmap):
    federation.with_importance(GIVEN).save(tmp_path / "f")
    loaded = Federation.load(tmp_path / "f", mmap=mmap)
    assert np.array_equal(loaded.given_importance, GIVEN)
    assert np.allclose(loaded.subset([0, 1]).importance, [0.8, 0.2])


def test_without_given_importance_none_is_loaded_even_if_an_older_federation_had_one(federation, tmp_path):
    federation.with_importance(GIVEN).save(tmp_path / "f")
    federation.save(tmp_path / "f")
    assert Federation.load(tmp_path / "f").given_importance is None


def test_a_federation_can_be_saved_over_itself(federation, tmp_path):
    federation.with_importance(GIVEN).save(tmp_path / "f")
    Federation.load(tmp_path / "f").save(tmp_path / "f")
    assert np.array_equal(Federation.load(tmp_path / "f").importance, GIVEN)


def test_a_damaged_or_missing_file_of_importances_is_named(federation, tmp_path):
    federation.with_importance(GIVEN).save(tmp_path / "f")
    (tmp_path / "f" / "importance.npy").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"importance\.npy"):
        Federation.load(tmp_path / "f")
    (tmp_path / "f" / "importance.npy").unlink()
    with pytest.raises(DataError, match=r"importance\.npy"):
        Federation.load(tmp_path / "f")


@pytest.mark.parametrize("wrong", [[0.5, 0.5], [0.5, -0.5, 1.0], [0.5, 0.5, np.nan], [1.0, 1.0, 1.0]])
def test_importances_on_disk_that_make_no_sense_are_refused(federation, tmp_path, wrong):
    federation.with_importance(GIVEN).save(tmp_path / "f")
    np.save(tmp_path / "f" / "importance.npy", np.array(wrong))
    with pytest.raises((ConfigError, DataError), match="importance"):
        Federation.load(tmp_path / "f")


# Training.


def test_an_experiment_says_how_clients_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("weights.csv").write_text("0.7\n0.2\n0.1\n")
    words = {"data": "digits", "clients": 3, "samples": 60}
    equal, file, data = (
        make_federation(make_experiment({**words, "importance": importance}))
        for importance in ("equal", "weights.csv", "data")
    )
    assert np.allclose(equal.importance, 1 / 3)
    assert np.allclose(file.importance, [0.7, 0.2, 0.1], rtol=1e-12)
    assert np.allclose(data.importance, data.train.sizes / data.train.sizes.sum())


def test_training_minimizes_what_the_importances_say():
    """Clients with losses (theta - c_i)^2 / 2: everyone takes part, so training ends at the weighted mean."""
    optima = np.array([1.0, -1.0, 3.0])
    clients = {str(i): {"train": (np.ones((i + 1, 1)), np.full(i + 1, c))} for i, c in enumerate(optima)}
    federation = Federation.from_clients(clients, classes=None)
    task = Task.regression(models.linear(0, input_shape=(1,), outputs=1))
    algorithm = FedAvg(work=LocalWork(steps=1, batch_size=0))
    for policy in (GIVEN, "equal", "data"):
        told = federation.with_importance(policy)
        run = train(told, task, algorithm, rounds=150, evaluate_every=0, participation=Full())
        assert float(run.message["w"][0, 0]) == pytest.approx(float(told.importance @ optima), abs=1e-4)


# By likeness.


def test_clients_like_the_others_count_more_and_strangers_less():
    rng = np.random.default_rng(0)
    x = np.vstack([[1, 0, 0] + 0.1 * rng.random((15, 3)), [0, 0, 1] + 0.1 * rng.random((5, 3))])
    clients = Federation.from_owners(x, np.zeros(20, int), np.arange(20) // 5)
    weights = clients.with_importance("similarity").importance
    assert weights.sum() == pytest.approx(1)
    assert weights[3] < 0.5 * weights[:3].min()


def test_likeness_cannot_be_told_from_sizes():
    with pytest.raises(ConfigError, match="needs the clients' rows"):
        importance_of("similarity", SIZES)
