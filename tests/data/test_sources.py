"""Real data: embedded ones always, files where they are."""

import gzip
import io
import json
import os
import tarfile

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from unalike.data import describe, load, source_registry
from unalike.data.sources import files
from unalike.data.sources.heart_disease import features, read_hospital
from unalike.data.sources.images import read_cifar_archive, read_idx
from unalike.data.sources.shakespeare import from_roles
from unalike.data.sources.source import standardize
from unalike.errors import DataError, UnalikeError


def needs(name):
    return pytest.mark.skipif(
        files.local(name) is None, reason=f"set UNALIKE_DATA to a folder that holds {name}"
    )


@pytest.mark.parametrize(
    ("name", "rows", "shape", "classes"),
    [("digits", 1797, (8, 8, 1), 10), ("breast_cancer", 569, (30,), 2), ("diabetes", 442, (10,), None)],
)
def test_embedded(name, rows, shape, classes):
    federation = load(name, clients=5)
    assert (federation.input_shape, federation.classes) == (shape, classes)
    assert sum(describe(federation)["rows"].values()) == rows
    assert federation.train.x.dtype == np.float32
    if len(shape) == 1:
        source = source_registry.make(name)
        np.testing.assert_allclose(source.x.mean(axis=0), 0, atol=1e-5)
        np.testing.assert_allclose(source.x.std(axis=0), 1, atol=1e-4)
    else:
        assert (federation.train.x.min(), federation.train.x.max()) == (0, 1)


def test_embedded_tables_are_those_of_scikit_learn():
    names = "digits", "breast_cancer", "diabetes"
    digits, cancer, diabetes = (source_registry.make(name) for name in names)
    pixels, labels = load_digits(return_X_y=True)
    np.testing.assert_array_equal(digits.x.reshape(pixels.shape), (pixels / 16).astype(np.float32))
    np.testing.assert_array_equal(digits.y, labels)
    theirs = load_breast_cancer()
    np.testing.assert_array_equal(cancer.x, standardize(theirs.data))
    np.testing.assert_array_equal(cancer.y, theirs.target)
    assert cancer.label_names == tuple(theirs.target_names)
    rows, targets = load_diabetes(return_X_y=True)
    np.testing.assert_array_equal(diabetes.x, standardize(rows))
    np.testing.assert_array_equal(diabetes.y, standardize(targets[:, None])[:, 0])


def write_images(path, train=40, test=10, shape=(28, 28)):
    rng = np.random.default_rng(0)
    x, x_test = (rng.integers(0, 256, (n, *shape)).astype(np.uint8) for n in (train, test))
    y, y_test = (np.arange(n, dtype=np.uint8) % 10 for n in (train, test))
    np.savez(path, x_train=x, y_train=y, x_test=x_test, y_test=y_test)


@pytest.mark.parametrize(
    ("name", "shape"), [("mnist", (28, 28)), ("fashion_mnist", (28, 28)), ("cifar10", (32, 32, 3))]
)
def test_images_from_a_folder_of_any_length(tmp_path, name, shape):
    write_images(tmp_path / f"{name}.npz", shape=shape)
    federation = load(name, clients=4, path=tmp_path)
    assert federation.input_shape == (*shape[:2], shape[2] if len(shape) == 3 else 1)
    assert sum(describe(federation)["rows"].values()) == 50
    assert federation.train.x.dtype == np.uint8  # a byte per pixel, until a model sees it


def test_the_environment_variable_names_the_folder(tmp_path, monkeypatch):
    write_images(tmp_path / "mnist.npz")
    monkeypatch.setenv("UNALIKE_DATA", str(tmp_path))
    assert len(load("mnist", clients=3)) == 3


def test_pickled_images_are_refused(tmp_path):
    np.savez(tmp_path / "mnist.npz", x_train=np.array([{}], dtype=object), y_train=[0])
    with pytest.raises(DataError, match=r"mnist.npz cannot be read"):
        load("mnist", path=tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("mnist", "mnist.npz", b"no zip"),
        ("mnist", "mnist.npz", b""),
        ("shakespeare", "shakespeare_roles.json.gz", b"no gzip"),
        ("shakespeare", "shakespeare_roles.json.gz", gzip.compress(b"[" * 100_000, mtime=0)),
        ("shakespeare", "shakespeare_roles.json.gz", gzip.compress(b"[1]", mtime=0)[:-9]),
        ("heart_disease", "heart_disease/processed.cleveland.data", b"a,b,c\n"),
        ("heart_disease", "heart_disease/processed.cleveland.data", b"\xff\xfe" * 99),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, name, file, content):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"{path.name} cannot be read .* it must hold "):
        load(name, path=tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="it is a pipe, not a file"):
        load(name, path=tmp_path)


def test_no_file_and_no_network_says_what_to_do(tmp_path, monkeypatch):
    import pooch

    def unreachable(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.delenv("UNALIKE_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", unreachable)
    for name in ("mnist", "fashion_mnist", "cifar10"):
        with pytest.raises(
            UnalikeError, match=f"set UNALIKE_DATA to a folder holding {name}.npz, or connect"
        ):
            load(name, path=tmp_path)


@pytest.mark.parametrize("name", ["shakespeare", "heart_disease"])
def test_files_that_are_never_downloaded_say_where_to_get_them(name, tmp_path):
    with pytest.raises(UnalikeError, match=r"set UNALIKE_DATA to a folder that holds it \("):
        load(name, path=tmp_path)


def test_the_progress_bar_is_one_that_pooch_can_use():
    bar = files._Bar("a file")
    bar.total = 10
    bar.update(4)
    bar.reset()
    bar.update(10)
    bar.close()
    assert bar.total == 10


def test_idx_files(tmp_path):
    array = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    header = bytes([0, 0, 8, 3]) + np.array(array.shape, ">u4").tobytes()
    (tmp_path / "a.gz").write_bytes(gzip.compress(header + array.tobytes()))
    np.testing.assert_array_equal(read_idx(tmp_path / "a.gz"), array)


def test_the_cifar_archive_has_channels_last(tmp_path):
    record = np.r_[7, np.repeat([1, 2, 3], 1024)].astype(np.uint8)
    with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as archive:
        for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"):
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = record.size
            archive.addfile(member, io.BytesIO(record.tobytes()))
    arrays = read_cifar_archive(tmp_path / "cifar.tar.gz")
    assert arrays["x_train"].shape == (2, 32, 32, 3)
    assert arrays["x_test"][0, 5, 9].tolist() == [1, 2, 3]
    assert arrays["y_test"].tolist() == [7]


def test_windows_of_a_role_and_their_next_character():
    roles = {"A": "abcdefghij", "B": "short", "C": "jihgfedcba"}
    source = from_roles(roles, sequence=4, stride=3, windows=5)
    symbols = source.label_names
    assert symbols == tuple(sorted(set("".join(roles.values()))))
    assert source.owner_names == ("A", "C")
    read = ["".join(symbols[c] for c in row) + symbols[y] for row, y in zip(source.x, source.y, strict=True)]
    assert read == ["abcde", "defgh", "jihgf", "gfedc"]


def test_roles_shorter_than_a_window_and_two_are_dropped():
    roles = {"A": "x" * 5, "B": "x" * 6}
    assert from_roles(roles, 4, 1, 9).owner_names == ("B",)
    with pytest.raises(DataError, match="no role speaks 12"):
        from_roles(roles, 10, 1, 9)


def test_shakespeare_is_cut_in_time(tmp_path):
    with gzip.open(tmp_path / "shakespeare_roles.json.gz", "wt") as file:
        json.dump({"PLAY.ROLE": "a" * 60 + "b" * 40, "PLAY.OTHER": "c" * 100}, file)
    federation = load("shakespeare:10,1", path=tmp_path)
    assert federation.names == ("PLAY.ROLE", "PLAY.OTHER")
    assert federation.train.x.dtype == np.int32
    assert (federation.test.client(0)[1] == 1).all()  # only the end of the text


def test_hospitals_drop_columns_then_incomplete_patients(tmp_path):
    known = "63,1,1,145,233,1,2,150,0,2.3"
    text = f"X1,X2\n{known},-9,-9,-9,0\n{known},?,?,?,3\n{known.replace('145', '?')},3,0,6,1\n"
    (tmp_path / "a.data").write_text(text)
    table = read_hospital(tmp_path / "a.data")
    assert table[:, 13].tolist() == [0, 3]
    assert features(table).shape == (2, 13)
    assert features(table)[0, -5:].tolist() == [
        0,
        0,
        0,
        0,
        1,
    ]  # chest pain of the first kind, the second ECG kind


@needs("heart_disease")
def test_heart_disease_has_the_published_counts():
    federation = load("heart_disease")
    assert (federation.train.sizes + federation.test.sizes).tolist() == [303, 261, 46, 130]
    assert federation.input_shape == (13,)
    assert set(np.unique(federation.train.y)) == {0, 1}


@needs("shakespeare_roles.json.gz")
def test_shakespeare_has_the_known_roles():
    federation = load("shakespeare")
    assert len(federation) == 1049
    assert federation.classes == 81
    assert federation.input_shape == (80,)


@needs("mnist.npz")
def test_mnist():
    federation = load("mnist", partition="dirichlet-class:0.5", clients=20, samples=2000)
    assert sum(describe(federation)["rows"].values()) == 2000
    assert sum(len(part) for part in (source_registry.make("mnist").pooled()[1],)) == 70_000
