"""Is a comparison known again by what it was asked?"""

from itertools import count

import pytest

from unalike import ConfigError, RunError
from unalike.experiments.comparison_file import ASKED, ComparisonFile, begun, read_asked, write_asked
from unalike.experiments.config import Experiment
from unalike.runs.comparison_tables import ANSWER
from unalike.runs.sealed_files import seal_again

ONE = ComparisonFile(
    algorithms=("fedavg",),
    vary=("l2=0.1,0.2",),
    seeds=2,
    target="accuracy=0.9",
    experiment=Experiment(seed=3),
)


def folders(path):
    return (path / f"comparison-{number}" for number in count(1))


def test_what_is_written_is_read_again(tmp_path):
    write_asked(tmp_path, ONE)
    assert read_asked(tmp_path) == ONE
    assert list(ONE.all_seeds) == [3, 4]
    assert list(ONE.variants()) == ["l2 0.1", "l2 0.2"]


def test_what_was_begun_goes_on_and_what_is_finished_is_left_alone(tmp_path):
    first, second = tmp_path / "comparison-1", tmp_path / "comparison-2"
    assert begun(folders(tmp_path), ONE) == first
    write_asked(first, ONE)
    assert begun(folders(tmp_path), ONE) == first
    assert begun(folders(tmp_path), ONE.model_copy(update={"seeds": 5})) == second
    (first / ANSWER).write_text("{}")
    assert begun(folders(tmp_path), ONE) == second


def test_another_question_takes_the_answer_away(tmp_path):
    (tmp_path / ANSWER).write_text("{}")
    write_asked(tmp_path, ONE)
    assert not (tmp_path / ANSWER).exists()


def test_other_folders_and_files_are_said(tmp_path):
    with pytest.raises(RunError, match="neither a run"):
        read_asked(tmp_path)
    (tmp_path / ASKED).write_text("algorithms = 3\n")
    with pytest.raises(RunError, match="unalike runs seal"):
        read_asked(tmp_path)
    seal_again(tmp_path)
    with pytest.raises(ConfigError, match="algorithms is not possible"):
        read_asked(tmp_path)
