"""An object of another library is answered by a sentence that says what to do."""

import numpy as np
import pytest

import unalike
from unalike.data import Federation
from unalike.errors import ConfigError, DataError

X, Y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])


def foreign(module, name, **members):
    """A class that looks as if another library had defined it, which need not be there."""
    return type(name, (), {"__module__": module, **members})


Dataset = foreign("torch.utils.data.dataset", "TensorDataset")
Own = type("Patients", (Dataset,), {"__len__": lambda self: 2, "__getitem__": lambda self, i: (X[i], Y[i])})
Loader = foreign("torch.utils.data.dataloader", "DataLoader", __iter__=lambda self: iter([(X, Y), (X, Y)]))
Hugging = foreign("datasets.arrow_dataset", "Dataset")


class Frame:
    """A table with names, an array, and an iterator over the names, as pandas has them."""

    def __init__(self, names, values):
        self.columns, self.values = names, np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)

    def __iter__(self):
        return iter(self.columns)


Frame.__module__ = "pandas.core.frame"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([(X, Y)], r"a list has no names of clients; give a dictionary, such as \{str\(i\): pair for"),
        (Dataset(), r"a TensorDataset of torch is not clients; give each client a map-style data set"),
        (Own(), r"a Patients of torch is not clients; .*\{name: dataset\}"),
        (Loader(), r"a DataLoader of torch is not clients; .*loader.dataset"),
        (Hugging(), r"a Dataset of datasets is not clients; use Federation.from_tables"),
        (X, r"a ndarray is not clients; give a dictionary of pairs"),
        (None, r"a NoneType is not clients"),
    ],
)
def test_what_is_no_dictionary_of_clients(given, words):
    for answer in (Federation.from_clients, unalike.load):
        with pytest.raises(DataError, match=words):
            answer(given)


def test_one_table_needs_to_say_whose_its_rows_are():
    with pytest.raises(DataError, match=r"a Frame is one table, not clients; use Federation\.from_tables"):
        Federation.from_clients(Frame(["u", "v"], X))
    with pytest.raises(ConfigError, match="say which column names them"):
        unalike.load(Frame(["u", "v"], X))


@pytest.mark.parametrize("given", [Frame(["u", "v"], X), Dataset(), Loader(), Hugging()])
def test_what_is_no_pair_of_one_client(given):
    with pytest.raises(DataError, match=r"client 'a': a .* is "):
        Federation.from_clients({"a": given})


def test_tables_are_matched_by_name():
    clients = {"a": (Frame(["u", "v"], X), Y), "b": (Frame(["v", "u"], X[:, ::-1]), Y)}
    federation = Federation.from_clients(clients, test_fraction=0)
    np.testing.assert_array_equal(*(federation.train.client(i)[0] for i in (0, 1)))
    assert federation.columns == ("u", "v")
    clients["c"] = (Frame(["u", "w"], X), Y)
    with pytest.raises(DataError, match="'c' has other columns than client 'a': it lacks 'v'"):
        Federation.from_clients(clients)


def test_words_in_a_column_of_objects():
    words = np.array(["ill", "well", "ill", "ill"], object)
    assert Federation.from_clients({"a": (X, words)}).label_names == ("ill", "well")
    for missing in (None, float("nan")):
        words[2] = missing
        with pytest.raises(DataError, match="'a' has an empty label in row 3"):
            Federation.from_clients({"a": (X, words)})
    words[2] = 3
    with pytest.raises(DataError, match="'a' has targets of type object"):
        Federation.from_clients({"a": (X, words)})


def test_a_path_is_a_name(tmp_path):
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    assert unalike.load(tmp_path).names == ("a",)
