"""What happens when an option makes no sense?

One sentence, what is allowed, the nearest spelling, exit code 2, no traceback, and nothing on the disk.
"""

from pathlib import Path

import pytest

from .conftest import TINY

MISSPELT = [
    ("data", "digit", "did you mean 'digits'?", "heart_disease"),
    ("partition", "dirichlett:0.3", "did you mean 'dirichlet'?", "shards"),
    ("skew", "rotaton:30", "did you mean 'rotation'?", "noise"),
    ("model", "liner", "did you mean 'linear'?", "mlp"),
    ("algorithm", "fedavgg", "did you mean 'fedavg'?", "scaffold"),
    ("optimizer", "sgdd", "did you mean 'sgd'?", "adam"),
    ("server-optimizer", "sgdd", "did you mean 'sgd'?", "adam"),
    ("schedule", "cosin:5", "did you mean 'cosine'?", "inverse-sqrt"),
    ("engine", "locl", "did you mean 'local'?", "debug"),
    ("timing", "synchronos", "did you mean 'synchronous'?", "Allowed:"),
]

IMPOSSIBLE = [
    (("--rounds", "-1"), "rounds = -1 is not possible"),
    (("--clients", "0"), "clients = 0 is not possible"),
    (("--clients", "2000"), "2000 clients cannot share 1797 rows"),
    (("--per-round", "6"), "per_round must be between 1 and the number of clients (5), but is 6"),
    (("--per-round", "0"), "per_round = 0 is not possible"),
    (("--learning-rate", "nan"), "learning_rate = nan is not possible"),
    (("--learning-rate", "inf"), "learning_rate = inf is not possible"),
    (("--learning-rate", "-0.1"), "learning_rate = -0.1 is not possible"),
    (("--test-fraction", "1"), "test_fraction = 1.0 is not possible"),
    (("--validation-fraction", "0.9"), "leave nothing to train on"),
    (("--epochs", "1", "--steps", "2"), "either epochs or steps of local work, not both"),
    (("--momentum", "0.9", "--optimizer", "adam"), "optimizer 'adam' does not take these options"),
    (("--algorithm", "scaffold", "--optimizer", "adam"), "must be plain sgd"),
    (("--algorithm", "local", "--server-optimizer", "adam"), "local has no server optimizer"),
    (("--partition", "dirichlet:abc"), "where a number belongs"),
    (("--schedule", "cosine"), "wrong arguments"),
    (("--set", "mu=0.1"), "unknown option of fedavg 'mu'"),
    (("--algorithm", "fedprox", "--set", "muu=0.1"), "did you mean 'mu'?"),
    (("--algorithm", "fedprox", "--set", "mu=nan"), "options = nan is not possible"),
    (("--algorithm", "fedprox", "--set", "mu=abc"), "mu must be a number, but is 'abc'"),
    (("--set", "mu"), "--set 'mu' is not of the form name=value"),
    (("--set", "mu="), "--set 'mu=' is not of the form name=value"),
    (("--set", "mu=,"), "--set 'mu=,' is not of the form name=value"),
    (("--set", "=0.1"), "--set '=0.1' is not of the form name=value"),
    (("--rounds", "many"), "--rounds"),
    (("--devices", "99"), "devices must be between 1 and"),
    (("--engine", "local:3"), "engine 'local:3'"),
    (("--timing", "synchronous:3"), "timing 'synchronous:3' has wrong arguments"),
    (("--timing", "async", "--largest-weight", "0"), "largest_weight = 0.0 is not possible"),
    (("--largest-weight", "0.5"), "largest_weight means nothing in synchronous rounds"),
    (("--model", "mlp:wide"), "model 'mlp:wide'"),
    (("--model", "mlp:0"), "model 'mlp:0'"),
    (("--model", "mlp:-5"), "model 'mlp:-5'"),
    (("--schedule", "decay:slowly"), "schedule 'decay:slowly'"),
    (("--schedule", "cosine:0"), "schedule 'cosine:0'"),
    (("--out", "/dev/null/run"), "/dev/null/run"),
    (("nowhere.toml",), "cannot read nowhere.toml"),
]

FILES = {
    "an unknown key": ('algoritm = "fedavg"', "unknown setting 'algoritm'; did you mean 'algorithm'?"),
    "an unknown table": ("[server]\nrate = 1", "unknown setting 'server'"),
    "a word for a number": ('rounds = "many"', "rounds = 'many' is not possible"),
    "a number for a word": ("algorithm = 3", "algorithm = 3 is not possible"),
    "a truth for a number": ("rounds = true", "rounds = True is not possible"),
    "a list for a table": ("options = [1]", "options = [1] is not possible"),
    "no TOML": ("rounds 5", "is not a TOML file"),
    "no text": ("\x00\x01", "is not a TOML file"),
}


def refused(answer, tmp_path, words, allowed=()):
    """Exit code 2, the sentence, and an empty folder (apart from what was there before)."""
    assert answer.code == 2
    assert answer.out == ""
    assert words in answer.sentence
    assert "Traceback" not in answer.err
    assert not [path for path in tmp_path.iterdir() if path not in allowed]


@pytest.mark.parametrize(("option", "given", "hint", "other"), MISSPELT, ids=[m[0] for m in MISSPELT])
def test_a_misspelt_name_gets_the_nearest_one_and_all_others(unalike, tmp_path, option, given, hint, other):
    answer = unalike("run", *TINY, f"--{option}", given)
    refused(answer, tmp_path, hint)
    assert other in answer.sentence.partition("Allowed:")[2] or other == "Allowed:"
    assert len(answer.err.strip().splitlines()) == 1


@pytest.mark.parametrize(("options", "words"), IMPOSSIBLE, ids=[" ".join(i[0]) for i in IMPOSSIBLE])
def test_an_impossible_option_is_refused_and_leaves_nothing(unalike, tmp_path, options, words):
    refused(unalike("run", *TINY, *options), tmp_path, words)


@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES.keys())
def test_a_bad_file_is_refused_and_leaves_nothing(unalike, tmp_path, content, words):
    file = tmp_path / "experiment.toml"
    file.write_text(content)
    refused(unalike("run", file), tmp_path, words, allowed=(file,))


def test_a_binary_file_is_refused(unalike, tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_bytes(b"\xff\xfe\x00")
    refused(unalike("run", file), tmp_path, "is not a TOML file", allowed=(file,))


def test_a_folder_is_not_an_experiment_file(unalike, tmp_path):
    file = tmp_path / "experiment.toml"
    file.mkdir()
    refused(unalike("run", file), tmp_path, "cannot read", allowed=(file,))


@pytest.mark.parametrize("name", ["[/bold]", "[red]x", "[link=a]"])
def test_brackets_in_a_name_are_shown_as_typed(unalike, tmp_path, name):
    refused(unalike("run", *TINY, "--algorithm", name), tmp_path, f"unknown algorithm '{name}'")


def test_an_algorithm_without_options_says_so(unalike, tmp_path):
    answer = unalike("run", *TINY, "--set", "mu=1")
    refused(answer, tmp_path, "unknown option of fedavg 'mu'")
    assert "Allowed: ." not in answer.sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--algorithms", "fedavg,fedprx"), "did you mean 'fedprox'?"),
        (("--algorithms", ","), "name at least one algorithm"),
        (("--algorithms", "fedavg", "--baseline", "fedprox"), "unknown baseline 'fedprox'"),
        (("--algorithms", "fedavg", "--metric", "test_acuracy"), "unknown metric 'test_acuracy'"),
        (("--algorithms", "fedavg", "--test-fraction", "0"), "test"),
        (("--seeds", "0"), "--seeds"),
    ],
)
def test_a_comparison_is_refused_before_it_trains(unalike, tmp_path, options, words):
    refused(unalike("compare", *TINY, "--rounds", "1", "--seeds", "1", *options), tmp_path, words)


@pytest.mark.parametrize("command", ["resume", "inspect", "list", "reproduce"])
def test_other_commands_refuse_what_they_do_not_know(unalike, tmp_path, command):
    refused(unalike(command, "nothing-like-this"), tmp_path, "nothing-like-this")


def test_a_run_is_never_replaced_unasked(unalike, tiny):
    folder = tiny()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    answer = unalike("run", *TINY, "--out", folder)
    assert answer.code == 2
    assert "already holds a run" in answer.sentence
    assert "--overwrite" in answer.sentence
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_with_other_files_is_never_cleared(unalike, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("years of work")
    answer = unalike("run", *TINY, "--out", "run", "--overwrite")
    assert answer.code == 2
    assert "thesis.tex" in answer.sentence
    assert (tmp_path / "run" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("sampling", "words"),
    [("poisson", "poisson"), ("target", "target sampling needs")],
)
def test_a_sampling_that_cannot_draw_is_refused_before_there_is_a_folder(unalike, sampling, words):
    uneven = ("--data", "digits", "--clients", "5", "--partition", "lognormal:2", "--per-round", "4")
    answer = unalike("run", *uneven, "--sampling", sampling, "--out", "run")
    assert answer.code == 2
    assert words in answer.sentence.lower()
    assert not Path("run").exists()


def test_no_method_is_trained_if_another_one_cannot_be(unalike):
    """ClientQueries for updates before choosing is not possible where clients remember, as Ditto's do."""
    options = ("--clients", "5", "--rounds", "2", "--per-round", "2", "--sampling", "optimal")
    answer = unalike("compare", "--algorithms", "fedavg,ditto", *options, "--seeds", "1", "--out", "both")
    assert answer.code == 2
    assert "remember" in answer.sentence
    assert not Path("both").exists()
