"""Can training be rewound?  (Every version is there when asked for, and only what is needed otherwise.)"""

import numpy as np
import pytest

from unalike import FedAvg, Federation, LocalWork, Task, UnalikeError, models, train
from unalike.algorithms import Messages
from unalike.engine import Block, Outcome
from unalike.runs import flatten
from unalike.timing import Step
from unalike.training.history import History

ALGORITHM = FedAvg(work=LocalWork(epochs=1, batch_size=0, shuffle=False))


@pytest.fixture(scope="module")
def setting():
    rng = np.random.default_rng(0)
    clients = {name: (rng.normal(size=(8, 4)), np.arange(8) % 2) for name in "abc"}
    task = Task.classification(models.linear(input_shape=(4,), outputs=2), classes=2)
    return Federation.from_clients(clients), task, ALGORITHM


def content(tree):
    return {name: array.tobytes() for name, array in flatten(tree).items()}


@pytest.fixture(scope="module")
def kept(setting):
    """Eight rounds, all remembered."""
    return train(*setting, rounds=8, keep_history=True)


@pytest.mark.exact
def test_every_version_is_the_state_after_that_many_rounds(setting, kept):
    for version in (0, 3, 8):
        assert content(kept.history.state(version)) == content(train(*setting, rounds=version).state)


@pytest.mark.exact
def test_training_goes_on_from_any_version(setting, kept):
    """With full batches in a fixed order a round depends on nothing but the model, so 5 + 3 is 8."""
    later = train(*setting, rounds=3, initial=kept.history.state(5))
    assert content(later.state) == content(kept.state)


def test_going_on_from_a_version_leaves_that_version_as_it_was(setting, kept):
    before = content(kept.history.state(5))
    train(*setting, rounds=2, initial=kept.history.state(5))
    assert content(kept.history.state(5)) == before


@pytest.mark.parametrize("version", [9, -1])
def test_a_version_that_is_not_there_is_explained(kept, version):
    with pytest.raises(UnalikeError, match=rf"version {version} is not in the history \(kept: 0 to 8\)"):
        kept.history.state(version)


def test_a_run_that_keeps_no_history_says_how_to_keep_one(setting):
    run = train(*setting, rounds=1)
    with pytest.raises(UnalikeError, match="train with keep_history=True"):
        run.history.state(1)


def test_only_the_messages_that_may_be_started_from_stay():
    history = History(lambda state: Messages(state * 10))
    for version in range(5):
        history.add(version, version)
        history.forget([version - 2])
    assert history.kept == {3: 30, 4: 40}
    sent = history.messages_for(starting_from(4, 3, 4))
    assert sent.per_client
    assert [int(sent.of(place)) for place in range(3)] == [40, 30, 40]
    assert history.messages_for(starting_from(3, 3)) == Messages(30)
    assert history.older(4) == {"3": 30}
    with pytest.raises(UnalikeError, match="starts from version 1"):
        history.messages_for(starting_from(1))


def starting_from(*versions):
    """A block of one step whose clients start from these versions."""
    return Block([Step(4, np.arange(len(versions)), np.array(versions), np.ones(len(versions)))])


def test_the_newest_message_stays_until_there_is_a_newer_one():
    history = History(lambda state: Messages(state * 10))
    history.add(0, 0)
    history.forget([0])
    assert history.kept == {0: 0}
    history.add(1, 1)
    assert history.kept == {1: 10}


def test_older_messages_survive_being_saved():
    history, again = (History(lambda state: Messages(state * 10)) for _ in range(2))
    for version in range(5):
        history.add(version, version)
    history.forget([0, 1])
    again.restore(history.older(4))
    again.add(4, 4)
    assert again.kept == history.kept


@pytest.mark.exact
def test_a_resumed_run_does_not_claim_versions_that_it_never_saw(setting, tmp_path):
    train(*setting, rounds=4, out=tmp_path / "run").folder.close()
    resumed = train(*setting, rounds=6, keep_history=True, out=tmp_path / "run", resume=True)
    assert content(resumed.history.state(6)) == content(train(*setting, rounds=6).state)
    with pytest.raises(UnalikeError, match="version 2") as error:
        resumed.history.state(2)
    assert "0 to 6" not in str(error.value)


def test_nobody_waits_for_a_model_that_no_client_outside_of_a_block_starts_from():
    looked_at = []
    history = History(lambda state: Messages(looked_at.append(state) or state))
    history.add(0, 0)
    assert history.messages_for(starting_from(0)) == Messages(0)
    for first in (0, 2, 4):
        steps = [
            Step(k, np.arange(1), np.full(1, k), np.ones(1), done_with=np.array([k]))
            for k in (first, first + 1)
        ]
        assert history.messages_for(Block(steps, 2)) == Messages({})
        history.advance(Block(steps, 2), Outcome(first + 2, [{}, {}]))
    assert looked_at == [0]
    assert history.tree(6) == 6
    assert list(history.kept) == looked_at[1:] == [6]
