"""A file from somebody else is refused in one sentence: no traceback, no hang, no memory, no code."""

import random
import resource
from pathlib import Path

import numpy as np
import pytest

from unalike.data import Federation
from unalike.errors import DataError, UnalikeError

from .damaged_files import MAKERS, PROOF, declared, npy

GIGABYTE = 1 << 30


@pytest.fixture
def little_memory():
    """Another three gigabytes of addresses at most: who asks for more gets a MemoryError at once."""
    with Path("/proc/self/statm").open() as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 3 * GIGABYTE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("what", MAKERS)
def test_what_cannot_be_read_is_refused_by_name(tmp_path, monkeypatch, little_memory, what):
    if "parquet" in what or "columns" in what:
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "clients"
    folder.mkdir()
    MAKERS[what](folder)
    with pytest.raises(DataError, match="'culprit'") as caught:
        Federation.from_folder(folder)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
    assert not (tmp_path / PROOF).exists()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("a pipe", r"it is a pipe, not a file"),
        ("link to zeros", r"it is a device, not a file"),
        ("a folder", r"it is a folder, not a file"),
        ("encrypted", r"its array x is encrypted"),
        ("bzip2", r"its array x is packed in a way that NumPy does not write"),
        ("bomb", r"it would unfold from .* to 3.7 GiB, which no honest data do"),
        ("a million million rows", r"does not fit its header, which declares 16,000,000,000,000 bytes"),
        ("labels of 10^12", r"has the label 1000000000000, .* 9,999; write labels as words, or .* floats"),
        ("a long label", r"a label of 100,000 characters in row 4"),
        ("utf-16", r"is not text in UTF-8"),
    ],
)
def test_the_sentence_says_what_is_wrong(tmp_path, what, words):
    MAKERS[what](tmp_path)
    with pytest.raises(DataError, match=words):
        Federation.from_folder(tmp_path)


def test_a_file_without_permission(tmp_path, monkeypatch):
    (tmp_path / "culprit.csv").write_text("u,y\n1,0\n")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(DataError, match=r"'culprit': culprit.csv cannot be read \(you have no permission"):
        Federation.from_folder(tmp_path)


def test_runs_of_equal_values_are_counted_before_they_are_unfolded(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr("unalike.core.plain_files.SURELY_FINE", 1 << 20)
    rows = pyarrow.table({"u": np.zeros(1_000_000, np.int8), "y": np.zeros(1_000_000, np.int8)})
    parquet.write_table(rows, tmp_path / "culprit.parquet", compression="zstd")
    with pytest.raises(DataError, match=r"'culprit'.*it would unfold from .* KiB to 15.3 MiB"):
        Federation.from_folder(tmp_path)


def test_a_long_word_that_comes_often_is_kept_once(tmp_path, little_memory):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    words = pyarrow.array(["x" * 100_000]).dictionary_encode()
    coded = pyarrow.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), words.dictionary)
    parquet.write_table(pyarrow.table({"u": np.zeros(100_000), "y": coded}), tmp_path / "culprit.parquet")
    with pytest.raises(DataError, match="'culprit' has a label of 100,000 characters"):
        Federation.from_folder(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        declared((10**12, 2)),
        declared((10**30, 2)),
        declared((4, 2), values=b""),
        declared((4, 2), values=b"\0" * 65),
        declared("(" * 200),
        declared("(4,'a')"),
        npy(np.array(3.0)),
        npy(np.array([[object()]])),
        npy(np.zeros(3)),
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x09" + b"\0" * 100,
    ],
)
@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("array", ["train_x", "train_offsets"])
def test_arrays_of_a_saved_federation_hold_what_they_declare(
    tmp_path, monkeypatch, little_memory, content, mmap, array
):
    Federation.from_clients({"a": (np.ones((6, 2)), np.arange(6) % 2)}).save(tmp_path)
    (tmp_path / f"{array}.npy").write_bytes(content)
    with pytest.raises(UnalikeError):
        Federation.load(tmp_path, mmap=mmap)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        '{"version": 1, "classes": 1e300}',
        '{"version": 1, "classes": true}',
        '{"version": 1, "classes": 1000000000000}',
        '{"version": 1, "names": "ab"}',
        '{"version": 1, "names": [1]}',
        '{"version": 1, "names": ["a", "b"]}',
        '{"version": 1, "label_names": ["only one"], "classes": 2}',
        '{"version": 1, "columns": ["a", "b", "c"]}',
        '{"version": 1, "description": 7}',
        '{"version": 1, "importance": true}',
        "\udcff",
    ],
)
def test_manifests_that_somebody_made_up(tmp_path, text):
    Federation.from_clients({"a": (np.ones((6, 2)), np.arange(6) % 2)}).save(tmp_path)
    (tmp_path / "federation.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError):
        Federation.load(tmp_path)


def test_parts_of_other_shapes(tmp_path):
    Federation.from_clients({"a": (np.ones((6, 2)), np.arange(6) % 2)}).save(tmp_path)
    np.save(tmp_path / "test_x.npy", np.ones((1, 3), np.float32))
    with pytest.raises(DataError, match=r"the test rows have features of shape \(3,\) but the train rows"):
        Federation.load(tmp_path)


def mutated(content, rng):
    """The same bytes with one flipped, some cut off or taken out, or a number in place of another."""
    changed, place = bytearray(content), rng.randrange(len(content))
    match rng.randrange(4):
        case 0:
            changed[place] ^= 1 << rng.randrange(8)
        case 1:
            del changed[place:]
        case 2:
            del changed[place : place + rng.randrange(1, 40)]
        case _:
            changed[place : place + 1] = rng.choice([b"9" * 13, b"-1", b"nan", b"\xff\xff\xff\x7f", b""])
    return bytes(changed)


@pytest.mark.parametrize("name", ["a.npz", "a.csv"])
def test_no_change_of_a_file_ends_in_a_traceback(tmp_path, little_memory, name):
    path, rng = tmp_path / name, random.Random(7)
    if name == "a.npz":
        np.savez(path, x=np.ones((9, 2)), y=np.arange(9) % 3)
    else:
        path.write_text("u,v,y\n" + "1,0.5,ill\n2,0.25,well\n" * 9)
    whole, refused = path.read_bytes(), []
    for _ in range(150):
        path.write_bytes(mutated(whole, rng))
        try:
            Federation.from_folder(tmp_path)
        except DataError as error:
            refused.append(str(error))
    assert len(refused) > 30
    assert all("'a'" in sentence for sentence in refused)
