"""From a name to a federation."""

import numpy as np
import pytest

from unalike.data import Federation, describe, load
from unalike.errors import ConfigError, UnalikeError


def test_the_same_call_is_the_same_federation():
    first, again, other = (load("digits", partition="dirichlet:0.3", clients=8, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.train.x, again.train.x)
    np.testing.assert_array_equal(first.test.y, again.test.y)
    assert (first.train.y != other.train.y).any()


def test_without_a_partition_own_clients_or_iid():
    assert load("synthetic", clients=7).description.endswith("natural")
    assert load("digits", clients=7).description.endswith("iid")
    assert load("digits", clients=7).description.count("rows") == 0
    assert load("digits", clients=7, samples=60).description.endswith(", 60 of 1,797 rows; iid")
    rows = {"a": list(range(20)), "y": [0, 1] * 10}
    dealt = load(rows, label="y", partition="iid", clients=2, samples=8)
    assert dealt.description.endswith("8 of 20 rows; iid")
    assert len(load("digits")) == 100


def test_own_clients_can_be_dealt_again():
    federation = load("synthetic", partition="iid", clients=6)
    assert np.ptp(federation.train.sizes) <= 1


def test_fractions_of_every_client():
    federation = load("digits", clients=10, test_fraction=0.25, validation_fraction=0.25)
    total = federation.train.sizes + federation.validation.sizes + federation.test.sizes
    assert np.abs(federation.test.sizes - total / 4).max() <= 0.5
    assert np.abs(federation.validation.sizes - total / 4).max() <= 0.5


def test_test_rows_are_of_the_clients_own_kind():
    federation = load("digits", partition="classes:2", clients=10)
    for i in range(10):
        assert set(federation.test.client(i)[1]) <= set(federation.train.client(i)[1])


def test_samples_limit_the_rows():
    federation = load("digits", clients=10, samples=300)
    assert sum(describe(federation)["rows"].values()) == 300


def test_sizes_given_or_drawn():
    sizes = [10, 20, 30]
    federation = load("digits", partition="dirichlet:0.5", clients=3, sizes=sizes)
    assert (federation.train.sizes + federation.test.sizes).tolist() == sizes
    drawn = load("digits", partition="dirichlet:0.5", clients=30, sizes="lognormal:1")
    assert drawn.train.sizes.max() > 3 * drawn.train.sizes.min()


def test_a_partition_with_sizes_of_its_own_refuses_others():
    with pytest.raises(ConfigError, match="makes its own sizes"):
        load("digits", partition="shards:2", clients=3, sizes=[1, 2, 3])


def test_a_regression_is_dealt_by_decile():
    alike, unlike = (load("diabetes", partition=p, clients=10) for p in ("iid", "dirichlet:0.1"))
    means = [[f.train.client(i)[1].mean() for i in range(10)] for f in (alike, unlike)]
    assert np.std(means[1]) > 2 * np.std(means[0])


def test_a_skew_is_applied():
    plain, noisy = (load("digits", clients=5, skew=skew) for skew in (None, "noise:1"))
    assert (plain.train.x != noisy.train.x).any()


@pytest.mark.parametrize("as_name", [str, "folder:{}".format])
def test_folders_of_clients_and_saved_federations(tmp_path, as_name):
    for name in ("a", "b", "c"):
        np.savez(
            tmp_path / f"{name}.npz", x=np.random.default_rng(0).normal(size=(10, 2)), y=np.arange(10) % 2
        )
    federation = load(as_name(tmp_path), test_fraction=0.3)
    assert federation.names == ("a", "b", "c")
    assert federation.test.sizes.tolist() == [3, 3, 3]
    federation.save(tmp_path / "saved")
    again = load(as_name(tmp_path / "saved"), clients=2)
    assert len(again) == 2
    assert set(again.names) < {"a", "b", "c"}
    assert len(load("folder", path=tmp_path)) == 3


def test_a_folders_clients_are_not_dealt_again(tmp_path):
    Federation.from_clients({"a": (np.eye(2), [0, 1])}).save(tmp_path)
    with pytest.raises(ConfigError, match="leave out partition"):
        load(str(tmp_path), partition="iid")


def test_fewer_of_the_own_clients_keep_their_rows():
    everyone, some = (
        load("mixture:2,5", clients=20, seed=3),
        load("mixture:2,5", clients=20, seed=3, samples=2000),
    )
    assert len(some) <= len(everyone)
    assert sum(describe(some)["rows"].values()) == 2000


@pytest.mark.parametrize(
    "options",
    [
        {"name": "digit"},
        {"name": "digits", "partition": "dirichlett:0.3"},
        {"name": "digits", "partition": "dirichlet:abc"},
        {"name": "digits", "partition": "dirichlet:1,2,3"},
        {"name": "digits", "partition": "natural"},
        {"name": "digits", "partition": "pachinko"},
        {"name": "digits", "clients": 0},
        {"name": "digits", "clients": 5000},
        {"name": "digits", "samples": 0},
        {"name": "digits", "skew": "rotate:30"},
        {"name": "digits", "skew": "noise:loud"},
        {"name": "digits", "test_fraction": 1.5},
        {"name": "quadratic", "partition": "iid"},
        {"name": "synthetic:a"},
        {"name": "mixture:2.5"},
        {"name": "no/such/folder"},
        {"name": "folder:nowhere"},
    ],
)
def test_mistakes_are_explained(options):
    with pytest.raises(UnalikeError) as caught:
        load(**options)
    assert "\n" not in str(caught.value)


def test_the_label_is_a_column_of_tables(tmp_path):
    (tmp_path / "a.csv").write_text("sick,age\n1,50\n0,60\n")
    assert load(str(tmp_path), label="sick").target == "sick"
    with pytest.raises(ConfigError, match=r"'digits' is not made of tables .* leave out label"):
        load("digits", label="y")
    load(str(tmp_path), label="sick").save(tmp_path / "saved")
    assert load(str(tmp_path / "saved"), label="sick").target == "sick"
    with pytest.raises(ConfigError, match="saved to predict 'sick'; leave out label"):
        load(str(tmp_path / "saved"), label="age")
