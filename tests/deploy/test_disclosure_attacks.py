"""Does a server that chooses its questions learn anything about single rows?  (Attacks on a node.)"""

import stat

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from unalike.analytics.disclosure import DisclosurePolicy
from unalike.analytics.disclosure.influence import largest_leverage
from unalike.analytics.model_matrix import Plan, matrix_of
from unalike.data.tables import Table
from unalike.deploy.client.table_node import LEDGER, TableWorker

from .attacked_node import MINIMUM, PLAN, ROWS, agree, ask, patients, plan_of, refused, step


@pytest.fixture
def node(tmp_path):
    return TableWorker(patients(), tmp_path)


def test_cells_by_name_say_nothing_of_anybodys_hiv_status(node):
    names = [f"patient {i}" for i in range(ROWS)]
    _, arrays = ask(
        node, "cells", columns=["name", "hiv"], first=[*names, "nobody"], second=["positive", "negative"]
    )
    assert (arrays["counts"] == -1).all()  # present, absent and unknown names look the same


def test_bins_are_the_same_whatever_edges_are_asked_for(node):
    asked = [np.arange(20.5, 80.0)[None], np.linspace(56.5, 57.5, 9_000)[None], np.array([[56.9, 57.1]])]
    answers = [ask(node, "bins", {"edges": edges}, columns=["age"])[1] for edges in asked]
    for arrays in answers:
        assert arrays["edges_0"].tolist() == answers[0]["edges_0"].tolist()
        assert arrays["counts_0"].min() >= MINIMUM
        assert arrays["counts_0"].sum() == ROWS
        assert np.diff(arrays["edges_0"]).min() >= 5


def test_the_owner_chooses_edges(tmp_path):
    node = TableWorker(patients(), tmp_path, DisclosurePolicy(bin_edges={"age": (40.0, 60.0)}))
    assert ask(node, "bins", columns=["age"])[1]["edges_0"].tolist() == [40.0, 60.0]


def test_totals_do_not_give_a_suppressed_count_back(tmp_path):
    race = ["a"] * 30 + ["b"] * 27 + ["c"] * 3
    words, _ = ask(TableWorker(Table.of({"race": race}), tmp_path), "columns")
    found = words["columns"]["race"]
    assert found["words"] == {"a": 30, "b": -1}  # 60 - 30 is b and c together


def test_rows_with_missing_values_are_not_found_by_subtraction(tmp_path):
    node = TableWorker(patients(missing=1), tmp_path)
    words, _ = ask(node, "columns")
    assert words["columns"]["age"]["missing"] == -1
    _, moments = ask(node, "moments", columns=["income", "age"])
    both, _ = ask(node, "products", columns=["age", "income"])
    agreed = agree(node, plan_of("income ~ age", ("Intercept", "age")))
    for count in (moments["moments"][1, 0], both["count"], agreed.numbers["rows"]):
        assert ROWS - count >= MINIMUM
    assert agreed.numbers["dropped"] == ROWS - agreed.numbers["rows"]


@pytest.mark.parametrize(
    "term",
    [
        "I(2*exp(-1000*(age-57)**2))",
        "exp(age)",
        "I(age**9)",
        "I((age-57)**2)",
        "log(I(age-56))",
        "abs(age)",
        "C(age, levels=[57, 58])",
        "sex:hiv:C(age):income",
    ],
)
def test_free_expressions_are_refused(node, term):
    refused(agree(node, plan_of(f"income ~ {term}", ("Intercept", term))), "this node answers")


def test_a_column_that_marks_one_row_is_refused_by_leverage(tmp_path):
    table = patients()
    table.columns["income"][:] = np.concatenate([[1e9], np.linspace(4e4, 6e4, ROWS - 1)])
    node = TableWorker(table, tmp_path)
    refused(agree(node, plan_of("age ~ income", ("Intercept", "income"))), "leverage")
    assert not ask(node, "moments", columns=["income"])[1]["moments"].any()


def test_the_response_is_no_way_round_the_minimum_cell_count(tmp_path):
    table = patients()
    table.columns["sick"][:] = np.arange(ROWS) < 3
    node = TableWorker(table, tmp_path)
    refused(agree(node, plan_of("sick ~ age", ("Intercept", "age"))), "fewer than 5 rows")
    words = {"sex": ("f", "m")}
    table.columns["sick"][:] = (table["sex"] == "m") & (np.arange(ROWS) > 2)
    plan = plan_of("sick ~ sex", ("Intercept", "sex[T.m]"), words=words)
    refused(agree(TableWorker(table, tmp_path / "other"), plan), "fewer than 5 rows")


def test_a_plan_cannot_choose_rows_by_its_categories(node):
    plan = plan_of("income ~ hiv", ("Intercept", "hiv[T.x]"), words={"hiv": ("positive", "x")})
    refused(agree(node, plan), "cannot choose rows")


def test_guessed_categories_are_taken_whether_a_row_has_them_or_not(tmp_path):
    answers = []
    for guess in ("patient 7", "nobody"):
        node = TableWorker(patients(), tmp_path / guess.replace(" ", ""))
        terms = ("Intercept", "name[T.zz]")
        plan = plan_of("income ~ name", terms, words={"name": (guess, "zz")})
        answers.append(agree(node, plan).numbers["reason"])
    assert answers[0] == answers[1]


def test_crafted_coefficients_are_refused(node):
    refused(step(node, PLAN, "LogLoss", [-57e6, 1e6, 0.0]), "begins a model at coefficients of zero")
    assert step(node, PLAN, "LogLoss", [0.0, 0.0, 0.0]).kind == "upload"
    for sharp in (1e6, 1e3, 20.0, 5.0):
        refused(step(node, PLAN, "LogLoss", [-57 * sharp, sharp, 0.0], 1), "too few rows")


def test_two_thresholds_a_year_apart_are_not_subtracted(node):
    assert step(node, PLAN, "LogLoss", [0.0, 0.0, 0.0]).kind == "upload"
    kinds = [step(node, PLAN, "LogLoss", [-at, 1.0, 0.0], 1).kind for at in np.linspace(40, 70, 61)]
    assert kinds.count("upload") <= 5


def test_interactions_are_no_way_round_the_limit_on_all_answers(node):
    """`income:log(age)` sums incomes times log(age), though log(age) is no term of its own."""
    table, answered = patients(), [np.ones(ROWS)]
    age = table["age"]
    carriers = {
        "log(age)": np.log(age),
        "sqrt(age)": np.sqrt(age),
        "age": age,
        "I(age ** 2)": age**2,
        "I(age ** 3)": age**3,
        "I(age ** 2):log(age)": age**2 * np.log(age),
        "I(age ** 2):I(age ** 3)": age**5,
    }
    for response in ("sick", "hiv"):
        for carrier, values in carriers.items():
            term = f"income:{carrier}"
            words = {"hiv": ("negative", "positive")} if response == "hiv" else {}
            if (
                agree(node, plan_of(f"{response} ~ {term}", ("Intercept", term), words=words)).kind
                == "answer"
            ):
                answered.append(values)
    assert len(answered) > 1
    assert largest_leverage(np.column_stack(answered), 1e-8) <= 0.5 + 1e-6


def test_a_mean_far_away_does_not_hide_an_outlier(tmp_path):
    table = patients()
    table.columns["income"][:] = np.concatenate([[1e9], np.linspace(4e4, 6e4, ROWS - 1)])
    for place, mean in enumerate((0.0, -1e15, -1e18, 1e20, float("nan"))):
        plan = plan_of(
            "age ~ center(income)", ("Intercept", "center(income)"), moments={"income": (mean, 1.0)}
        )
        assert agree(TableWorker(table, tmp_path / str(place)), plan).kind == "refusal"


def test_the_ledger_survives_a_restart_and_nobody_else_reads_it(tmp_path):
    policy = DisclosurePolicy(maximum_questions=2)
    for _ in range(3):
        node = TableWorker(patients(), tmp_path, policy)
        assert ask(node, "moments", columns=["age"])[0] is not None  # the same question is free
    assert ask(node, "bins", columns=["age"])[0] is not None
    again = TableWorker(patients(), tmp_path, policy)
    assert "budget of 2 questions about column 'age'" in ask(again, "products", columns=["age", "income"])[1]
    assert stat.S_IMODE((tmp_path / LEDGER).stat().st_mode) == 0o600


def test_refusals_hold_no_count(tmp_path):
    few = TableWorker(patients().rows(np.arange(7)), tmp_path)
    terms = ("Intercept", "age", "I(age ** 2)", "I(age ** 3)", "log(age)", "sqrt(age)", "sick")
    answer = agree(few, plan_of(f"income ~ {' + '.join(terms[1:])}", terms))
    refused(answer, "fewer than 8 rows")
    assert "7" not in answer.numbers["reason"]


def single_out(node, number, rng):
    """One of many questions that are chosen to single out the person aged 57."""
    trick, at = number % 6, rng.uniform(55, 59)
    if trick == 0:
        return ask(node, "bins", {"edges": np.sort(rng.uniform(56, 58, 40))[None]}, columns=["age"])
    if trick == 1:
        guess = [f"patient {i}" for i in rng.permutation(ROWS)[:10]]
        return ask(node, "cells", columns=["name", "hiv"], first=guess, second=["positive"])
    if trick == 2:
        others = rng.permutation(["age", "sick"])[: rng.integers(0, 3)].tolist()
        return ask(node, "products", columns=["income", *others])
    if trick == 3:
        term = f"I(exp(-((age-{at})/{rng.uniform(0.01, 10)})**2))"
        return agree(node, plan_of(f"income ~ {term}", ("Intercept", term)))
    if trick == 4:
        sharp = 10 ** rng.uniform(-3, 6)
        return step(node, PLAN, "LogLoss", [-at * sharp, sharp, 0.0] if number > 4 else [0.0] * 3, number)
    terms = rng.permutation(
        ["age", "log(age)", "sqrt(age)", "I(age ** 2)", "I(age ** 3)", "sick", "age:sick"]
    )
    count = int(rng.integers(1, 6))
    chosen = ("Intercept", *sorted(terms[:count].tolist(), key=lambda term: ":" in term))
    plan = plan_of(f"income ~ {' + '.join(chosen[1:])}", chosen)
    return step(node, plan, "LeastSquares", [0.0] * (count + 1), number)


@pytest.mark.parametrize(("missing", "questions"), [(0, 500), (2, 120)])
def test_five_hundred_questions_about_one_row(tmp_path, missing, questions):
    """All answers about incomes are one linear system; no combination may put more than the stated share
    on one person. The system is made here of the plans that were answered, not by the node."""
    table = patients(missing)
    node, rng = TableWorker(table, tmp_path), np.random.default_rng(0)
    answers = [single_out(node, number, rng) for number in range(questions)]
    for number, answer in enumerate(answers):
        if number % 6 == 0 and answer[0] is not None:
            assert answer[1]["counts_0"].min() >= MINIMUM
            assert answer[1]["counts_0"].tolist() == answers[0][1]["counts_0"].tolist()
        if number % 6 == 1 and answer[0] is not None:
            assert (answer[1]["counts"] == -1).all()
        if number % 6 == 3:
            assert answer.kind == "refusal"
    steps, models = ([answers[i].kind for i in range(first, questions, 6)] for first in (4, 5))
    assert missing > 0 or "upload" in steps
    assert steps.count("upload") <= DisclosurePolicy().maximum_rounds
    assert 0 < models.count("upload") < len(models)
    system = []
    for asked, rows in node.guard.ledger.designs():
        assert ROWS - rows.sum() >= MINIMUM or rows.all()
        if "products" in asked and "income" in asked["products"]:
            others = [name for name in asked["products"] if name != "income"]
            made = np.column_stack([np.ones(rows.sum()), *(table[name][rows] for name in others)])
        elif "plan" in asked and asked["plan"]["formula"].startswith("income"):
            made = matrix_of(table.rows(rows), Plan.read(asked["plan"])).x
        else:
            continue
        whole = np.zeros((ROWS, made.shape[1]))
        whole[rows] = made
        system.append(whole)
    system = np.column_stack(system)
    system /= np.linalg.norm(system, axis=0)
    hat = system @ np.linalg.pinv(system, rcond=1e-8)
    assert np.linalg.matrix_rank(system, tol=1e-6) > 3  # answers did say something
    assert np.diag(hat).max() <= DisclosurePolicy().maximum_leverage + 1e-6
