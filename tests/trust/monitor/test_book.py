"""Does what the server remembers survive being saved, and does every client have its own clock?"""

import numpy as np

from unalike.trust.monitor.signals import digest
from unalike.trust.monitor.state import WINDOWED, MonitorState

SIGNALS = dict.fromkeys(WINDOWED, 0.5)
LAYERS = np.array([3])


def filled(clients=4, window=3):
    """Client 0 has sent five updates, client 2 one, both after the same model at last."""
    book = MonitorState(clients)
    book.begin(window, LAYERS)
    models = [np.full(3, float(k), np.float32) for k in range(5)]
    for k, model in enumerate(models):
        numbers = {"consecutive": k, "normal": 10 * k, "spread": 1 / (k + 1), "gain": -k}
        book.note(0, model + 1, model, digest(model), numbers)
    book.note(2, models[-1] + 2, models[-1], digest(models[-1]), SIGNALS)
    book.drop_old_models()
    return book


def test_windows_hold_the_last_updates_of_each_client():
    book = filled()
    assert book.seen.tolist() == [5, 0, 1, 0]
    assert sorted(book.times(0)) == [3, 4, 5]
    assert sorted(book.times(2)) == [0, 0, 1]
    assert book.times(1).tolist() == [0, 0, 0]
    order = np.argsort(book.times(0))
    assert book.signals["consecutive"][0][order].tolist() == [2, 3, 4]
    known = book.evidence()
    assert known.gain[[0, 2]].tolist() == [-2, 0.5]
    assert known.consecutive[[0, 2]].tolist() == [3, 0.5]
    assert np.isnan(known.consecutive[[1, 3]]).all()


def test_a_model_is_kept_once_and_only_while_it_is_some_clients_last():
    book = filled()
    assert len(book.models) == 1
    assert len(book.ever_sent) == 5
    assert book.last_sent(0) is book.last_sent(2)
    assert book.last_sent(1) is None


def test_what_is_saved_is_what_comes_back():
    for book in (filled(), _empty()):
        again = _empty()
        again.restore(book.state())
        before, after = book.state(), again.state()
        assert before.keys() == after.keys()
        for name in before:
            np.testing.assert_array_equal(before[name], after[name])
        assert again.ever_sent == book.ever_sent


def _empty():
    book = MonitorState(4)
    book.begin(3, LAYERS)
    return book
