"""Are files of other suites read as they are meant, and refused in one sentence where they are not?"""

import io
import json
import sys
import tarfile
from types import ModuleType

import numpy as np
import pytest

from unalike.data import describe, load
from unalike.data.sources.cross_silo_like import HEART_SIZES, TCGA_SIZES
from unalike.data.sources.medical_images import CAMELYON16, ISIC2019, MEDICAL_DATA, check_centers
from unalike.data.sources.tcga_brca import read_tcga
from unalike.errors import DataError


def rows_in(federation):
    return sum(describe(federation)["rows"].values())


def write_leaf(folder, users, part):
    (folder / part).mkdir(parents=True)
    content = {"users": list(users), "num_samples": [len(r["y"]) for r in users.values()], "user_data": users}
    (folder / part / "all_data_0.json").write_text(json.dumps(content))


def test_leaf_pictures_belong_to_their_writers(tmp_path):
    rng = np.random.default_rng(0)
    picture = lambda n: rng.random((n, 784)).round(3).tolist()  # noqa: E731
    users = {"w1": {"x": picture(6), "y": [0, 1, 2, 3, 61, 5]}, "w2": {"x": picture(4), "y": [7, 7, 8, 9]}}
    write_leaf(tmp_path / "femnist", users, "train")
    write_leaf(tmp_path / "femnist", {"w2": {"x": picture(2), "y": [10, 11]}}, "test")
    federation = load("femnist", path=tmp_path, test_fraction=0.0)
    assert federation.names == ("w1", "w2")
    assert federation.train.sizes.tolist() == [6, 6]
    assert (federation.classes, federation.input_shape) == (62, (28, 28, 1))
    np.testing.assert_allclose(federation.train.client(0)[0][2].ravel(), users["w1"]["x"][2], atol=1e-6)


def test_leaf_texts_are_windows_with_the_next_character(tmp_path):
    users = {"HAMLET": {"x": ["to be", "o be "], "y": [" ", "o"]}, "NURSE": {"x": ["peace"], "y": ["!"]}}
    write_leaf(tmp_path / "leaf_shakespeare", users, "train")
    federation = load("leaf_shakespeare", path=tmp_path, test_fraction=0.0)
    x, y = federation.train.client(0)
    said = ["".join(federation.label_names[code] for code in window) for window in x]
    assert said == users["HAMLET"]["x"]
    assert [federation.label_names[code] for code in y] == users["HAMLET"]["y"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "cannot be read"),
        ('{"users": []}', "cannot be read"),
        ('{"user_data": {"a": {"x": [[1]], "y": []}}}', "1 rows but 0 labels"),
        ('{"user_data": {"a": {"x": [[1]], "y": [0]}}}', "28x28"),
        ('{"user_data": {}}', "nobody has any row"),
    ],
)
def test_damaged_leaf_files_are_refused(tmp_path, content, says):
    (tmp_path / "femnist").mkdir()
    (tmp_path / "femnist" / "a.json").write_text(content)
    with pytest.raises(DataError, match=says):
        load("femnist", path=tmp_path)


class FakeFile(dict):
    """As much of an HDF5 file as is used; the real library is optional."""

    def __init__(self, path, mode):
        super().__init__(examples=CONTENT[path.name])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


CONTENT = {
    "fed_emnist_train.h5": {"f1": {"pixels": np.ones((3, 28, 28)), "label": np.array([1, 2, 3])}},
    "fed_emnist_test.h5": {"f1": {"pixels": np.zeros((2, 28, 28)), "label": np.array([4, 5])}},
    "shakespeare_train.h5": {"LEAR": {"snippets": np.array([b"blow, winds " * 10])}},
}


def test_tff_files_are_joined_by_user(tmp_path, monkeypatch):
    fake = ModuleType("h5py")
    fake.File = FakeFile
    monkeypatch.setitem(sys.modules, "h5py", fake)
    for name in CONTENT:
        (tmp_path / name).write_bytes(b"x")
    federation = load("femnist", path=tmp_path, test_fraction=0.0)
    assert federation.train.y.tolist() == [1, 2, 3, 4, 5]
    assert load("leaf_shakespeare", path=tmp_path).names == ("LEAR",)


def test_an_hdf5_file_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "fed_emnist_train.h5").write_bytes(b"x")
    with pytest.raises(DataError, match="install h5py"):
        load("femnist", path=tmp_path)


def cifar_records(n, seed):
    rng = np.random.default_rng(seed)
    fine = np.arange(n) % 100
    return np.column_stack([fine // 5, fine, rng.integers(0, 256, (n, 3072))]).astype(np.uint8)


def test_cifar100_has_coarse_labels_for_pachinko_from_either_file(tmp_path):
    parts = {"train": cifar_records(300, 0), "test": cifar_records(100, 1)}
    with tarfile.open(tmp_path / "cifar-100-binary.tar.gz", "w:gz") as archive:
        for name, records in parts.items():
            info = tarfile.TarInfo(f"cifar-100-binary/{name}.bin")
            info.size = records.nbytes
            archive.addfile(info, io.BytesIO(records.tobytes()))
    dealt = load("cifar100", partition="pachinko:0.1,10", clients=4, path=tmp_path)
    assert rows_in(dealt) > 300
    (tmp_path / "other").mkdir()
    arrays = {}
    for name, records in parts.items():
        pictures = records[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        arrays |= {f"x_{name}": pictures, f"y_{name}": records[:, 1:2], f"coarse_{name}": records[:, 0]}
    np.savez(tmp_path / "other" / "cifar100.npz", **arrays)
    same = load("cifar100", partition="pachinko:0.1,10", clients=4, path=tmp_path / "other")
    assert (same.train.x == dealt.train.x).all()
    assert (same.train.y == dealt.train.y).all()
    plain = load("cifar100", clients=2, path=tmp_path, test_fraction=0.0)
    assert rows_in(plain) == 400


@pytest.mark.parametrize("name", ["cifar100", "femnist", "leaf_shakespeare", "tcga_brca", *MEDICAL_DATA])
def test_without_files_a_sentence_says_where_to_get_them(name, tmp_path):
    with pytest.raises(DataError) as refused:
        load(name, path=tmp_path)
    words = str(refused.value)
    assert "UNALIKE_DATA" in words or "no model yet" in words
    if name in MEDICAL_DATA:
        assert MEDICAL_DATA[name].license in words


def test_a_prepared_medical_file_is_counted(tmp_path):
    rng = np.random.default_rng(0)
    n = 399
    np.savez(
        tmp_path / "camelyon16.npz",
        x=rng.normal(size=(n, 4)).astype(np.float32),
        y=np.arange(n) % 2,
        center=np.repeat([0, 1], [249, 150]),
    )
    assert load("camelyon16", path=tmp_path, test_fraction=0.0).train.sizes.tolist() == [249, 150]
    with pytest.raises(DataError, match="399 in all"):
        check_centers(CAMELYON16, np.zeros(10), np.zeros(10))
    with pytest.raises(DataError, match="labels"):
        check_centers(ISIC2019, np.full(3, 9), np.zeros(3))


def write_tcga(path, sizes, header="pid,center,T,E,age,stage"):
    rng = np.random.default_rng(0)
    lines = [header]
    for center, size in enumerate(sizes):
        for _ in range(size):
            cells = (rng.integers(10**6), center, 1 + rng.exponential(900), rng.integers(2), rng.normal(), 1)
            lines.append(",".join(f"{cell:g}" for cell in cells))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_survival_table_gives_signed_times_and_centers(tmp_path):
    x, signed, centers = read_tcga(write_tcga(tmp_path / "tcga_brca.csv", TCGA_SIZES))
    assert x.shape == (1088, 2)
    assert tuple(np.bincount(centers).tolist()) == TCGA_SIZES
    assert (signed > 0).any()
    assert (signed < 0).any()
    federation = load("tcga_brca", path=tmp_path, test_fraction=0.0)
    assert tuple(federation.train.sizes.tolist()) == TCGA_SIZES
    with pytest.raises(DataError, match="no column E"):
        read_tcga(write_tcga(tmp_path / "bad.csv", (2,), "pid,center,T,event,age,stage"))


def test_generated_centers_have_the_published_sizes_and_follow_their_seed():
    for name, sizes in (("heart_like", HEART_SIZES), ("tcga_like", TCGA_SIZES)):
        one, same, other = (load(name, test_fraction=0.0, seed=seed) for seed in (0, 0, 1))
        assert tuple(one.train.sizes.tolist()) == sizes
        assert (one.train.x == same.train.x).all()
        assert (one.train.x != other.train.x).any()


def hundred(features, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (300, features)), np.arange(300) % 100


@pytest.mark.parametrize(("name", "features"), [("purchase100", 600), ("texas100", 6169)])
def test_a_hundred_classes_are_the_same_from_arrays_and_from_a_table(tmp_path, name, features):
    x, y = hundred(features)
    np.savez(tmp_path / f"{name}.npz", features=x.astype(np.uint8), labels=np.eye(100)[y])
    federation = load(name, path=tmp_path, clients=2, test_fraction=0.0)
    assert (federation.classes, federation.input_shape, rows_in(federation)) == (100, (features,), 300)
    assert set(np.unique(federation.train.x)) == {0.0, 1.0}  # not divided as bytes of pictures are
    (tmp_path / "table").mkdir()
    np.savetxt(tmp_path / "table" / f"{name}.csv", np.column_stack([y + 1, x]), "%d", ",")
    table = load(name, path=tmp_path / "table", clients=2, test_fraction=0.0)
    np.testing.assert_array_equal(table.train.x, federation.train.x)
    np.testing.assert_array_equal(table.train.y, federation.train.y)
    few = load(name, path=tmp_path, clients=2, test_fraction=0.0, samples=50)
    assert rows_in(few) == 50


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x, y: (x[:, 1:], y), r"features of shape \(300, 599\), not \(rows, 600\)"),
        (lambda x, y: (2 * x, y), "must be 0 or 1"),
        (lambda x, y: (x, y + 7), "from 0 to 99, or from 1 to 100"),
        (lambda x, y: (x, y.astype(object)), "cannot be read"),
    ],
)
def test_other_rows_are_not_taken_for_purchases(tmp_path, change, says):
    x, y = change(*hundred(600))
    np.savez(tmp_path / "purchase100.npz", features=x, labels=y)
    with pytest.raises(DataError, match=says):
        load("purchase100", path=tmp_path)


def test_a_table_of_other_width_is_refused_and_where_to_get_a_file_is_said(tmp_path):
    (tmp_path / "texas100.csv").write_text("1,0,1\n2,1,1\n")
    with pytest.raises(DataError, match=r"texas100.csv cannot be read .*a line has 3 numbers"):
        load("texas100", path=tmp_path)
    with pytest.raises(DataError, match=r"purchase100.npz was not found; set .* purchase100.csv"):
        load("purchase100", path=tmp_path)


def test_generated_baskets_are_binary_rows_in_clusters():
    federation = load("purchase_like:10,40", clients=3, samples=300, test_fraction=0.0)
    assert (federation.classes, federation.input_shape, rows_in(federation)) == (10, (40,), 300)
    assert set(np.unique(federation.train.x)) == {0.0, 1.0}
    same = load("purchase_like:10,40", clients=3, samples=300, test_fraction=0.0)
    np.testing.assert_array_equal(same.train.x, federation.train.x)
