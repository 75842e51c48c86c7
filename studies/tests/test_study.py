"""Does `unalike reproduce` tell the truth?  (A broken hard claim is exit code 1, a soft one is reported.)"""

import importlib
import json
import pkgutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import unalike_studies
from unalike.cli import app
from unalike.errors import ConfigError
from unalike_studies import Claim, at_least, at_most, run_published, run_study, study_registry
from unalike_studies.study import _published_parts, at_published_effort, average, in_order, parts_of

FIELDS = {"id", "claim", "published", "expected", "measured", "spread", "hard", "holds"}


FOLDERS = [found.name for found in pkgutil.iter_modules(unalike_studies.__path__) if found.ispkg]
STUDIES = [name for name in FOLDERS if name not in ("shared", "theory")]
WITH_THEORY = (
    *(
        "asynchrony",
        "availability",
        "cross_silo",
        "fairness",
        "fedem",
        "free_riders",
        "gaussian_processes",
        "likeness",
    ),
    *(
        "linear_models",
        "online_mixture",
        "perturbed_gradient",
        "privacy",
        "sampling",
        "streams",
        "topology",
        "unlearning",
    ),
)


def module(study, part):
    return importlib.import_module(f"unalike_studies.{study}.{part}")


def reproduce(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


@pytest.fixture
def study():
    """Register a study of these claims for the length of a test."""

    def register(*claims):
        @study_registry.add("fake")
        def fake(quick: bool = False) -> list[Claim]:
            """A study of this test."""
            return list(claims)

    yield register
    study_registry._makers.pop("fake", None)


HOLDS = at_most("X-1", "it is small", [0.1, 0.3], 0.5, published=0.2, place="Table 1")
HARD = at_least("X-2", "it is large", [0.1, 0.3], 0.5)
SOFT = at_least("X-3", "it would be nice", [0.1], 0.5, hard=False)


@pytest.mark.parametrize(
    ("claims", "code"), [((HOLDS,), 0), ((HOLDS, HARD), 1), ((HOLDS, SOFT), 0), ((SOFT, HARD), 1), ((), 0)]
)
def test_only_a_broken_hard_claim_fails(study, claims, code):
    study(*claims)
    assert reproduce("fake").exit_code == code
    answer = reproduce("fake", "--json")
    assert answer.exit_code == code
    assert [claim["id"] for claim in json.loads(answer.stdout)] == [claim.id for claim in claims]


def test_a_person_reads_which_claim_does_not_hold(study):
    study(HOLDS, HARD, SOFT)
    words = " ".join(reproduce("fake").stdout.split())
    assert "3 claims, 1 hard" in words
    assert "X-2" in words


def test_the_worst_seed_decides_and_the_spread_is_half_the_range():
    assert (HOLDS.measured, HOLDS.spread, HOLDS.holds) == (0.3, pytest.approx(0.1), True)
    assert (HARD.measured, HARD.holds) == (0.1, False)
    assert SOFT.spread is None


def test_a_measure_that_is_not_a_number_does_not_hold():
    assert not at_most("X", "", [float("nan"), 0.0], 1.0).holds
    assert not at_least("X", "", [float("nan"), 2.0], 1.0).holds


def test_what_is_not_a_number_is_a_string_in_json(study):
    study(at_most("X-4", "it is a number", [float("nan")], 1.0))
    answer = reproduce("fake", "--json")
    assert json.loads(answer.stdout, parse_constant=pytest.fail)[0]["measured"] == "NaN"


def test_without_a_name_the_studies_are_listed():
    assert "foundation" in {row["study"] for row in json.loads(reproduce("--json").stdout)}


def test_a_study_is_told_to_be_quick():
    seen = []
    try:
        study_registry.add("fake")(lambda quick=False: seen.append(quick) or [])
        run_study("fake", quick=True)
        reproduce("fake", "--quick", "--json")
        reproduce("fake", "--json")
    finally:
        study_registry._makers.pop("fake")
    assert seen == [True, True, False]


@pytest.fixture
def long_study(study):
    """A study with two claims at the published effort."""
    study(HOLDS)
    at_published_effort("fake", "X-1")(lambda effort: iter([HOLDS]))
    at_published_effort("fake", "X-2")(lambda effort: iter([replace(HARD, note=effort.runs_of(10)[1])]))
    yield
    _published_parts.pop("fake")


def test_a_full_study_has_every_long_claim_or_one(long_study):
    both, one = (
        json.loads(reproduce("fake", "--full", "--json", *more).stdout) for more in ((), ("--only", "X-1"))
    )
    assert [claim["id"] for claim in both] == ["X-1", "X-2"]
    assert [claim["id"] for claim in one] == ["X-1"]


def test_fewer_runs_than_published_are_said_as_soon_as_a_claim_is_settled(long_study):
    answer = reproduce("fake", "--full", "--runs", "2")
    assert answer.exit_code == 1
    assert "X-2 it is large (2 runs where 10 were published): 0.1" in answer.stderr


def test_a_full_study_goes_on_after_ctrl_c(study, tmp_path):
    trained, stop_at = [], [2]

    def claims(effort):
        effort.trainings.expect(3)
        for seed in range(3):
            effort.trainings.numbers({"seed": seed}, lambda seed=seed: train(seed))
        yield HOLDS

    def train(seed):
        if len(trained) == stop_at[0]:
            raise KeyboardInterrupt
        trained.append(seed)
        return np.ones(1)

    study(HOLDS)
    try:
        at_published_effort("fake", "X-1")(claims)
        assert reproduce("fake", "--full", "--out", str(tmp_path)).exit_code != 0
        stop_at[0] = -1
        answer = reproduce("fake", "--full", "--out", str(tmp_path))
    finally:
        _published_parts.pop("fake")
    assert trained == [0, 1, 2]
    assert answer.exit_code == 0
    assert "3 of 3 trainings: X-1 it is small" in answer.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "here"], "--out goes with --full"),
        (["--share", "0.5"], "--share goes with --full"),
        (["--full", "--share", "2"], "at most 1"),
        (["--only", "X-1"], "--only goes with --full"),
        (["--quick", "--full"], "not both"),
        (["--full", "--only", "X-9"], "X-1"),
    ],
)
def test_options_that_contradict_each_other_are_refused(long_study, words, said):
    answer = reproduce("fake", *words)
    assert answer.exit_code != 0
    assert said in " ".join(answer.stderr.split()) + str(answer.exception)


def test_a_study_without_long_claims_says_which_have_some():
    some = "async, availability, fairness, gaussian-processes, online-mixture, privacy, sampling, streams"
    with pytest.raises(ConfigError, match=some):
        run_published("foundation")


def test_the_studies_have_the_claims_that_were_left_open():
    assert {name: set(parts_of(name)) for name in study_registry if parts_of(name)} == {
        "availability": {"A15"},
        "sampling": {"CS-12", "CS-15"},
        "async": {"AS-16", "AS-19"},
        "fairness": {"T2.2", "T2.3", "T2.5", "T2.6"},
        "privacy": {"P6", "R1", "R2", "R3"},
        "gaussian-processes": {"T4.2"},
        "online-mixture": {"M16"},
        "streams": {"DS-21", "DS-22", "DS-23"},
        "unlearning": {"F5.2-MNIST", "F5.2-Fashion", "FD.1", "FD.3"},
    }


def test_a_broken_claim_over_several_values_is_seen():
    assert not average("X", "mean", [1.0, 2.0], 1.6).holds
    assert average("X", "mean", [1.0, 2.0], 1.6, most=True).holds
    assert not in_order("X", "order", [1.0, 3.0, 2.0]).holds
    assert in_order("X", "order", [1.0, 3.0, 2.9], 0.2).holds


# Every study is laid out alike.


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_only_registers_itself_and_its_files_have_the_same_names(study):
    folder, name = importlib.import_module(f"unalike_studies.{study}"), f"unalike_studies.{study}.study"
    own = [made for made in vars(module(study, "study")).values() if getattr(made, "__module__", "") == name]
    assert own == [maker for maker in study_registry._makers.values() if maker.__module__ == name]
    assert len(own) == 1
    files = {found.name for found in pkgutil.iter_modules(folder.__path__)}
    assert files >= {"study", "data"}
    assert "training" in files
    assert ("theory" in files) == (study in WITH_THEORY)


@pytest.mark.parametrize("study", WITH_THEORY)
def test_every_part_of_the_theory_is_in_the_study(monkeypatch, study):
    theory = module(study, "theory")
    parts = [
        name
        for name in dir(theory)
        if name.endswith("_claims") and name[0] != "_" and name != "theory_claims"
    ]
    for name in parts:
        monkeypatch.setattr(theory, name, lambda *_, name=name: iter([name]))
    assert sorted(theory.theory_claims(quick=True)) == sorted(parts)


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_is_its_theory_and_then_its_trainings(monkeypatch, study):
    registered = module(study, "study")
    parts = [name for name in dir(registered) if name.endswith("_claims")]
    for name in parts:
        monkeypatch.setattr(registered, name, lambda *quick, name=name: [(name, quick)])
    (run,) = [maker for maker in study_registry._makers.values() if maker.__module__ == registered.__name__]
    made = run(quick=True)
    assert {name for name, _ in made} == {*parts} - {"real_claims"}
    assert all(quick == (True,) for _, quick in made)
    order = [name for name, _ in made if name in ("theory_claims", "training_claims")]
    assert order == sorted(order)


@pytest.mark.slow
def test_the_foundation_holds():
    answer = reproduce("foundation", "--quick", "--json")
    claims = json.loads(answer.stdout, parse_constant=pytest.fail)
    assert answer.exit_code == 0, claims
    assert all(set(claim) >= FIELDS for claim in claims)
    assert len({claim["id"] for claim in claims}) == len(claims) >= 7
    assert all(claim["holds"] for claim in claims if claim["hard"])
