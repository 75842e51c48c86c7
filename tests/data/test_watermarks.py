"""Do triggers lie where they should, and nowhere else?"""

import numpy as np
import pytest

import unalike
from unalike.data import Federation, put_watermarks
from unalike.data.watermarks import Watermark, select_watermarked_rows, watermark_registry
from unalike.errors import ConfigError

ROWS = 8


def images(kind=np.float32, clients=4):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, (clients * ROWS, 5, 5, 1)).astype(kind)
    owners = np.repeat(np.arange(clients), ROWS)
    return Federation.from_owners(x, rng.integers(0, 3, len(x)), owners, test_fraction=0.25)


def changed(before, after, client, part="train"):
    """Which features of which rows of a client differ, found by looking."""
    (old, _), (new, _) = (getattr(one, part).client(client) for one in (before, after))
    return (old.reshape(len(old), -1) != new.reshape(len(new), -1)), new.reshape(len(new), -1)


@pytest.mark.parametrize(("kind", "value"), [(np.uint8, 255), (np.float32, None)])
def test_a_client_sets_the_same_features_of_all_its_rows_to_the_largest_value(kind, value):
    before = images(kind)
    after = put_watermarks(before, "pixels:6", seed=1)
    for client in range(4):
        largest = before.train.client(client)[0].max() if value is None else value
        places = Watermark(6).places(client, 25, seed=1)
        for part in ("train", "test"):
            where, new = changed(before, after, client, part)
            assert set(np.flatnonzero(where.any(axis=0))) <= set(places)
            assert (new[:, places] == largest).all()
            assert new.dtype == kind
    np.testing.assert_array_equal(after.train.y, before.train.y)


def test_in_a_table_a_trigger_is_the_largest_value_of_the_clients_own_column():
    rng = np.random.default_rng(1)
    rows = {name: (rng.normal(size=(9, 5)), rng.integers(0, 2, 9)) for name in "abc"}
    before = Federation.from_clients(rows, test_fraction=0)
    after = put_watermarks(before, "pixels:2", "b,")
    where, new = changed(before, after, 1)
    (places,) = np.nonzero(where.any(axis=0))
    assert len(places) == 2
    own = before.train.client(1)[0].max(axis=0)
    assert (new[:, places] == own[places]).all()
    assert not changed(before, after, 0)[0].any()


def test_as_many_patterns_as_were_asked_for():
    places = [tuple(Watermark(10, patterns=10).places(client, 784, seed=0)) for client in range(30)]
    assert len(set(places)) == 10
    assert places[:10] == places[10:20]
    assert len({tuple(Watermark(10).places(client, 784, seed=0)) for client in range(30)}) == 30


def test_a_backdoor_is_in_a_share_of_the_training_rows_and_labels_them():
    before = images()
    after = put_watermarks(before, "backdoor:2,0.5,5", "1", seed=3)
    where, _ = changed(before, after, 3)
    relabeled = before.train.client(3)[1] != after.train.client(3)[1]
    marked = select_watermarked_rows(after, watermark_registry.make("backdoor:2,0.5,5"), [3], seed=3)
    assert len(marked.y) == 3  # half of six
    assert (marked.y == 2).all()
    assert where.any(axis=1).sum() == 3
    assert not relabeled[~where.any(axis=1)].any()
    np.testing.assert_array_equal(before.test.x, after.test.x)
    for client in range(3):
        assert not changed(before, after, client)[0].any()


def test_rows_with_a_trigger_are_found_again():
    before = images()
    after = put_watermarks(before, "backdoor:0,0.3,4", seed=5)
    made = watermark_registry.make("backdoor:0,0.3,4")
    found = select_watermarked_rows(after, made, [2, 0], seed=5)
    naive = [after.train.client(c)[0][changed(before, after, c)[0].any(axis=1)] for c in (2, 0)]
    np.testing.assert_array_equal(found.x, np.concatenate(naive))


def test_the_trigger_of_a_client_does_not_depend_on_rows_of_others():
    before = images()
    alone = before.without_rows([0, 1])
    marked = put_watermarks(before, "pixels:3").train.client(2)[0]
    np.testing.assert_array_equal(marked, put_watermarks(alone, "pixels:3").train.client(2)[0])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"watermark": "pixels:26"}, "sets 26 features, but rows have 25"),
        ({"watermark": "pixels:0"}, "at least one feature"),
        ({"watermark": "backdoor:3"}, "names class 3, but classes are 0 to 2"),
        ({"watermark": "backdoor:1,0"}, "a share above 0"),
        ({"watermark": "backdoor"}, "wrong arguments"),
        ({"watermark": "pixls"}, "did you mean 'pixels'"),
        ({"watermark": "pixels", "who": "9,"}, "unknown client"),
        ({"watermark": "pixels", "who": "9"}, "cannot make 9 clients watermarked"),
        ({"watermark": None, "who": "2"}, "needs a watermark"),
    ],
)
def test_what_makes_no_sense_is_refused(words, reason):
    with pytest.raises(ConfigError, match=reason):
        put_watermarks(images(), **words)


def test_rows_without_classes_or_numbers_have_no_watermark():
    with pytest.raises(ConfigError, match="regression"):
        unalike.load("diabetes", clients=3, watermark="pixels:2")


def test_both_are_options_of_load():
    marked = unalike.load("digits", clients=3, samples=60, watermark="pixels:4", watermarked="1,")
    plain = unalike.load("digits", clients=3, samples=60)
    assert [changed(plain, marked, client)[0].any() for client in range(3)] == [False, True, False]
