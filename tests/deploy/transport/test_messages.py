"""Does a message arrive as it was sent, and is everything that is not a message refused unopened?"""

import io
import math
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

from unalike.deploy import MessageError, WireMessage, arrays_to_tree, tree_to_arrays
from unalike.deploy.transport.messages import MOST_ARRAYS, RAW, SMALL, pack, unpack

flwr = pytest.importorskip("flwr.app")
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict  # noqa: E402
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree  # noqa: E402

from unalike.deploy.transport.receive import IncomingMessage, ObjectPullError, ObjectUnavailableError  # noqa: E402

ARRAYS = {
    "scalar": np.asarray(3.5),
    "empty": np.zeros((0, 3), np.float32),
    "bool": np.array([[True, False]]),
    "int8": np.array([-128, 127], np.int8),
    "uint64": np.array([2**64 - 1], np.uint64),
    "half": np.array([1.5, np.inf, np.nan], np.float16),
    "bfloat16": np.asarray(jnp.arange(4, dtype=jnp.bfloat16)),
    "complex": np.array([1 + 2j], np.complex64),
    "not contiguous": np.arange(12.0).reshape(3, 4).T[::2],
    "ünïcode/name": np.array([-0.0, 5e-324]),
}
NUMBERS = {
    "round": 7,
    "rate": 0.1,
    "name": "Zürich",
    "last": False,
    "least": -(2**63),
    "nan": math.inf,
    "": 0,
}


def same(one, other):
    """Equal to the bit, type and shape included."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def travel(record):
    """The record as it is after Flower took it apart and put it together again."""
    message = flwr.Message(metadata=METADATA, content=record)
    tree, objects = get_object_tree(message), get_all_nested_objects(message)
    return IncomingMessage(tree, 10**6).advance(lambda name: objects[name].deflate()).content


METADATA = flwr.Metadata(
    run_id=1,
    message_id="",
    src_node_id=1,
    dst_node_id=2,
    reply_to_message_id="",
    group_id="",
    created_at=1.0,
    ttl=1.0,
    message_type="train",
)


@pytest.mark.parametrize("small", [0, SMALL], ids=["each by itself", "together"])
def test_numbers_and_arrays_survive_to_the_bit(small):
    wire_message = unpack(travel(pack(WireMessage("update", NUMBERS, ARRAYS), small=small)))
    assert wire_message.kind == "update"
    assert wire_message.numbers == NUMBERS
    assert {name: type(value) for name, value in wire_message.numbers.items()} == {
        name: type(value) for name, value in NUMBERS.items()
    }
    assert all(same(wire_message.arrays[name], ARRAYS[name]) for name in ARRAYS)
    assert list(wire_message.arrays) == list(ARRAYS)
    assert all(array.flags.writeable for array in wire_message.arrays.values())


def test_a_parcel_without_anything_survives():
    assert unpack(travel(pack(WireMessage("ping")))) == WireMessage("ping")


def test_big_endian_arrays_arrive_with_their_values():
    arrays = {"x": np.array([1, 2, 3], ">i4")}
    assert unpack(pack(WireMessage("x", {}, arrays))).arrays["x"].tolist() == [1, 2, 3]


def test_trees_become_arrays_and_trees_again():
    tree = {"params": [{"w": np.ones((2, 3), np.float32)}, {"b": np.zeros(())}], "n": 3}
    wire_message = unpack(pack(WireMessage("model", {}, tree_to_arrays(tree))))
    again = arrays_to_tree(tree, wire_message.arrays)
    assert same(again["params"][0]["w"], tree["params"][0]["w"])
    assert again["n"] == 3


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "'w' is missing"),
        ({"w": np.ones(2), "v": np.ones(2)}, "'v' is not expected"),
        ({"w": np.ones(3)}, r"shape \(3,\)"),
        ({"w": np.ones(2, np.float32)}, "type float32"),
    ],
)
def test_arrays_that_do_not_fit_the_template_are_refused(arrays, words):
    with pytest.raises(MessageError, match=words):
        arrays_to_tree({"w": np.zeros(2)}, arrays)


def test_equal_arrays_of_several_parcels_are_converted_once():
    model, shared = np.ones(5), {}
    records = [pack(WireMessage("model", {"client": i}, {"w": model}), shared, small=0) for i in range(3)]
    assert len({id(record["arrays"]["w"]) for record in records}) == 1


def test_a_small_model_is_one_part_of_a_message_that_all_nodes_share():
    arrays = {f"layer/{i}": np.ones(7) for i in range(20)}
    messages = [
        flwr.Message(metadata=METADATA, content=pack(WireMessage("model", {"client": i}, arrays)))
        for i in range(2)
    ]
    one, other = (set(get_all_nested_objects(message)) for message in messages)
    assert len(one) == 4  # the message, its record, what it is about, and the arrays
    assert len(one & other) == 1
    assert set(pack(WireMessage("model", {}, {"w": np.zeros(SMALL + 1, np.uint8)}))) == {"about", "arrays"}


def test_arrays_that_take_the_place_of_a_forgotten_one_are_not_mistaken_for_it():
    shared = {}
    sent = [pack(WireMessage("model", {}, {"w": np.full(3, float(i))}), shared, small=0) for i in range(20)]
    assert [unpack(record).arrays["w"][0] for record in sent] == list(range(20))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"kind": 1}, "cannot be called 'kind'"),
        ({"x": None}, "'x' is a NoneType"),
        ({"x": [1]}, "'x' is a list"),
        ({"x": b"bytes"}, "'x' is a bytes"),
        ({"x": 2**63}, "'x' does not fit in 64 bits"),
        ({"x": "\ud800"}, "cannot be sent"),
        ({"x": "y" * 10**7}, "at most 4000000 characters"),
        ({3: 1}, "must be a text"),
    ],
)
def test_numbers_that_are_none_cannot_be_sent(numbers, words):
    with pytest.raises(MessageError, match=words):
        pack(WireMessage("x", numbers))


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["a"]), np.array(["2020"], "M8[D]")])
def test_arrays_of_other_types_cannot_be_sent(array):
    with pytest.raises(MessageError, match="array 'x' has type"):
        pack(WireMessage("x", {}, {"x": array}))


def test_numpy_scalars_are_numbers():
    assert unpack(pack(WireMessage("x", {"a": np.float32(0.5), "b": np.bool_(True)}))).numbers == {
        "a": 0.5,
        "b": True,
    }


class Bomb:
    """Its unpickling would be noticed."""

    def __reduce__(self):
        return pytest.fail, ("something was unpickled",)


def array(dtype="float32", shape=(2,), stype=RAW, data=b"\0" * 8):
    return Array(dtype=dtype, shape=shape, stype=stype, data=data)


def npy(value):
    buffer = io.BytesIO()
    np.save(buffer, value, allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (array(stype="numpy.ndarray"), "serialized as 'numpy.ndarray'; allowed: raw"),
        (array(stype="numpy.ndarray", data=npy(np.array([Bomb()]))), "serialized as"),
        (array(stype="pickle", data=pickle.dumps(Bomb())), "serialized as 'pickle'"),
        (array(dtype="object", data=pickle.dumps(Bomb())), "has type 'object'"),
        (array(dtype="O"), "has type 'O'"),
        (array(dtype="V8"), "has type 'V8'"),
        (array(dtype="f4,f4"), "has type"),
        (array(dtype="x" * 10_000 + "\n"), "has type 'xxx"),
        (array(shape=(3,)), "has 8 bytes, but its shape needs 12"),
        (array(shape=(2**40,)), "its shape needs"),
        (array(shape=(-2, -1)), "impossible shape"),
        (array(shape=(True, 2)), "impossible shape"),
        (array(shape=(1,) * 33), "impossible shape"),
        (array(dtype="bool", shape=(8,), data=b"\0\1\0\1\2\0\1\1"), "holds other bytes than 0 and 1"),
    ],
)
def test_an_array_that_is_not_raw_bytes_of_its_shape_is_refused(bad, words):
    record = RecordDict({"about": ConfigRecord({"kind": "x"}), "arrays": ArrayRecord({"w": bad})})
    with pytest.raises(MessageError, match=words) as caught:
        unpack(record)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (pickle.dumps(Bomb()), "does not say its type and shape"),
        (b'["object", [1]]\n' + pickle.dumps(Bomb()), "has type 'object'"),
        (b'["float32", [2]]', "has 0 bytes, but its shape needs 8"),
        (b'["float32", [3]]\n' + bytes(8), "has 8 bytes, but its shape needs 12"),
        (b'["float32", [1099511627776]]\n' + bytes(8), "its shape needs"),
        (b'["float32", [-2, -1]]\n' + bytes(8), "impossible shape"),
        (b'["float32", [true, 2]]\n' + bytes(8), "impossible shape"),
        (b'["float32", [2.0]]\n' + bytes(8), "impossible shape"),
        (b'["float32", 2]\n' + bytes(8), "does not say"),
        (b'[["float32"], [2]]\n' + bytes(8), "does not say"),
        (b'{"a": 1, "b": 2}\n' + bytes(8), "does not say"),
        (b"[" * 900 + b"\n", "does not say"),
        (b"[" * 10**6, "does not say"),
        (b'["bool", [2]]\n\0\2', "holds other bytes than 0 and 1"),
        ("float32", "does not say"),
        (7, "does not say"),
    ],
)
def test_small_arrays_that_are_not_raw_bytes_of_their_shape_are_refused(bad, words):
    record = RecordDict({"about": ConfigRecord({"kind": "x"}), "small": ConfigRecord({"w": bad})})
    with pytest.raises(MessageError, match=words) as caught:
        unpack(record)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"about": ConfigRecord({"kind": "x"})},
        {"about": ConfigRecord({"kind": "x"}), "arrays": ArrayRecord(), "more": ConfigRecord()},
        {"about": ArrayRecord(), "arrays": ArrayRecord()},
        {"about": ConfigRecord({"kind": "x"}), "arrays": MetricRecord()},
        {"about": ConfigRecord(), "arrays": ArrayRecord()},
        {"about": ConfigRecord({"kind": 1}), "arrays": ArrayRecord()},
        {"about": ConfigRecord({"kind": "x"}), "small": ArrayRecord()},
        {"about": ConfigRecord({"kind": "x"}), "arrays": ConfigRecord()},
        {"about": ConfigRecord({"kind": "x"}), "arrays": ArrayRecord(), "small": ConfigRecord()},
    ],
)
def test_a_message_that_is_no_parcel_is_refused(record):
    with pytest.raises(MessageError, match="not a message of Unalike"):
        unpack(RecordDict(record))


@pytest.mark.parametrize("value", [b"bytes", [1, 2], ["a"]])
def test_values_that_no_parcel_holds_are_refused(value):
    record = RecordDict({"about": ConfigRecord({"kind": "x", "v": value}), "arrays": ArrayRecord()})
    with pytest.raises(MessageError, match="number 'v' is a"):
        unpack(record)


@pytest.mark.parametrize("small", [0, SMALL], ids=["each by itself", "together"])
def test_the_limit_counts_every_array_also_one_under_many_names(small):
    one = np.zeros(100)
    record = travel(pack(WireMessage("x", {}, {"a": one, "b": one}), small=small))
    unpack(record, limit=1600)
    with pytest.raises(MessageError, match="more than 1599 bytes"):
        unpack(record, limit=1599)


def test_too_many_arrays_are_refused_on_both_sides():
    many = {str(i): np.zeros(0) for i in range(MOST_ARRAYS + 1)}
    with pytest.raises(MessageError, match="has 10001 arrays; at most 10000"):
        pack(WireMessage("x", {}, many))
    empty = array(shape=(0,), data=b"")
    record = RecordDict(
        {"about": ConfigRecord({"kind": "x"}), "arrays": ArrayRecord(dict.fromkeys(many, empty))}
    )
    with pytest.raises(MessageError, match="has 10001 arrays"):
        unpack(record)
    together = ConfigRecord(dict.fromkeys(many, b'["float32", [0]]\n'))
    with pytest.raises(MessageError, match="has 10001 arrays"):
        unpack(RecordDict({"about": ConfigRecord({"kind": "x"}), "small": together}))


def parts(arrays):
    """A message's tree, the contents of its parts, and a list that notes what was fetched."""
    message = flwr.Message(metadata=METADATA, content=pack(WireMessage("x", {}, arrays), small=0))
    contents = {name: part.deflate() for name, part in get_all_nested_objects(message).items()}
    return get_object_tree(message), contents, []


def test_a_message_that_declares_too_much_is_refused_before_its_bytes_are_fetched():
    tree, contents, fetched = parts({"w": np.random.default_rng(0).random(1000)})

    def fetch(name):
        fetched.append(len(contents[name]))
        return contents[name]

    with pytest.raises(MessageError, match="more than 7999 bytes"):
        IncomingMessage(tree, 7999).advance(fetch)
    assert max(fetched) < 1000
    assert IncomingMessage(tree, 8000).advance(fetch) is not None


def test_what_has_not_arrived_is_fetched_later_and_once():
    tree, contents, fetched = parts({"w": np.arange(3.0), "v": np.arange(4.0)})
    there = set(list(contents)[::2])

    def fetch(name):
        if name not in there:
            raise ObjectUnavailableError(name)
        fetched.append(name)
        return contents[name]

    arriving = IncomingMessage(tree, 1000)
    assert arriving.advance(fetch) is None
    there.update(contents)
    assert unpack(arriving.advance(fetch).content).arrays["v"].tolist() == [0, 1, 2, 3]
    assert sorted(fetched) == sorted(contents)


def test_a_part_that_will_never_come_is_an_error():
    tree, _, _ = parts({})

    def fetch(name):
        raise ObjectPullError(name, "it is gone")

    with pytest.raises(MessageError, match="never sent completely"):
        IncomingMessage(tree, 1000).advance(fetch)


def forged(arrays, part, content):
    """The parts of a message, one of which was replaced by its sender."""
    tree, contents, _ = parts(arrays)
    name = next(name for name, old in contents.items() if old.startswith(part + b" "))
    head, _, _ = contents[name].partition(b"\0")
    children = head.split(b" ")[1].decode()
    contents[name] = f"{part.decode()} {children} {len(content)}\0".encode() + content
    return tree, contents


@pytest.mark.parametrize(
    ("part", "content", "words"),
    [
        (
            b"Array",
            b'{"dtype": "float64", "shape": [1], "stype": "raw", "arraychunk_ids": [5]}',
            "missing chunk",
        ),
        (b"Array", b'{"dtype": "float64", "shape": [1], "stype": "raw"}', "does not say"),
        (b"Array", b"[" * 100_000, "does not say"),
        (b"Array", b"not json", "does not say"),
        (b"Array", b'{"dtype": "object", "shape": [1], "arraychunk_ids": []}', "has type 'object'"),
        (b"ArrayRecord", b"not json", "malformed"),
        (b"RecordDict", b"{}", "malformed"),
        (b"ConfigRecord", b"\xff\xff\xff", "malformed"),
        (b"Message", b"\xff\xff\xff", "malformed"),
    ],
)
def test_a_forged_message_is_refused_with_a_sentence(part, content, words):
    tree, contents = forged({"w": np.arange(1.0)}, part, content)
    with pytest.raises(MessageError, match=words):
        IncomingMessage(tree, 10**6).advance(contents.__getitem__)


def test_one_chunk_that_is_named_a_thousand_times_is_not_put_together():
    ids = ", ".join(["0"] * 1000)
    content = f'{{"dtype": "float64", "shape": [1], "stype": "raw", "arraychunk_ids": [{ids}]}}'.encode()
    tree, contents = forged({"w": np.arange(1.0)}, b"Array", content)
    with pytest.raises(MessageError, match="more than 7999 bytes"):
        IncomingMessage(tree, 7999).advance(contents.__getitem__)


def test_a_message_of_very_many_parts_is_refused_at_sight():
    from flwr.proto.message_pb2 import ObjectTree

    tree = ObjectTree(object_id="a", children=[ObjectTree(object_id=str(i)) for i in range(40_001)])
    with pytest.raises(MessageError, match="more than 40000 parts"):
        IncomingMessage(tree, 0)
