"""Does what a forgotten client had in its table matter in any way for the model that is left?"""

import csv

import numpy as np

from unalike.core.run_files import FACTS, MODEL
from unalike.experiments.config import make_experiment
from unalike.experiments.forget import forget, plan_forgetting
from unalike.experiments.open import open_run as open_finished
from unalike.experiments.run import run_experiment
from unalike.runs import load_tensors
from unalike.trust.unlearning.calibration import Budget

LARGE = Budget(1, 0.01, 50.0)
"""Noise that hides everything, so that training would go on from the last model if it could."""
WORDS = {"label": "ill", "model": "linear", "rounds": 3, "steps": 2, "batch_size": 0, "learning_rate": 0.1}
SITES = ("basel", "chur", "zug")


def write_sites(folder, chur_age=70.0, chur_word="typical", chur_label="yes"):
    folder.mkdir(parents=True)
    for k, site in enumerate(SITES):
        rng, mine = np.random.default_rng(k), site == "chur"
        with (folder / f"{site}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["age", "pain", "ill"])
            for _ in range(12):
                age = rng.normal(chur_age if mine else 50.0, 5.0)
                pain = chur_word if mine else rng.choice(["none", "atypical"])
                table.writerow([age, pain, chur_label if mine else rng.choice(["no", "yes"])])
    return folder


def forgotten(place, prepare=None, **values):
    data = write_sites(place / "sites", **values)
    words = {**WORDS, "data": f"folder:{data}", "unlearning": "full", "prepare": prepare}
    run_experiment(make_experiment(words), place / "run").folder.close()
    done = forget(place / "run", ["chur"], LARGE)
    done.run.folder.close()
    return place / "run", done.certificate


def test_values_words_and_labels_of_a_forgotten_client_do_not_matter(tmp_path):
    """The same model, the same facts, whatever the client had."""
    one, certificate = forgotten(tmp_path / "one")
    two, _ = forgotten(tmp_path / "two", chur_age=1e9, chur_word="none", chur_label="dead")
    ours, theirs = (load_tensors(folder / MODEL)[0] for folder in (one, two))
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6)
    assert (one / FACTS).read_text() == (two / FACTS).read_text()
    assert "typical" not in (one / FACTS).read_text().replace("atypical", "")
    assert certificate.label == "proven"
    assert certificate.guarantee.startswith("(0, 0)-unlearning")
    assert "coded again" in str(certificate.assumptions)


def test_the_folder_predicts_with_the_new_coding(tmp_path):
    folder, _ = forgotten(tmp_path, chur_label="dead")
    run = open_finished(folder)
    assert set(run.predict({"age": [40.0, 60.0], "pain": ["none", "atypical"]})) <= {"no", "yes"}
    assert forget(folder, ["zug"], LARGE, rounds=1, quality=True).quality["after"]["accuracy"] >= 0


def test_a_dry_run_says_that_training_starts_anew(tmp_path):
    data = write_sites(tmp_path / "sites")
    words = {**WORDS, "data": f"folder:{data}", "unlearning": "full"}
    run_experiment(make_experiment(words), tmp_path / "run").folder.close()
    assert "a new model" in plan_forgetting(tmp_path / "run", ["chur"], LARGE)["restart"]


def test_a_preparation_that_was_given_stays_and_is_assumed(tmp_path):
    data = write_sites(tmp_path / "sites")
    words = {**WORDS, "data": f"folder:{data}"}
    run_experiment(make_experiment(words), tmp_path / "first").folder.close()
    _, certificate = forgotten(tmp_path / "second", prepare=str(tmp_path / "first" / FACTS))
    assert certificate.label == "conditional"
    assert "given and is not fitted again" in str(certificate.assumptions)
    assert any(FACTS in words for words in certificate.remains)


def test_rows_that_were_dealt_from_one_coded_table_are_not_proven(tmp_path):
    data = write_sites(tmp_path / "sites") / "basel.csv"
    words = {**WORDS, "data": str(data), "partition": "iid", "clients": 3, "unlearning": "full"}
    run_experiment(make_experiment(words), tmp_path / "run").folder.close()
    assert forget(tmp_path / "run", ["1"], LARGE, rounds=1).certificate.label == "heuristic"
