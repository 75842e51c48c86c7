"""Federated analysis between organizations: the server's side.

ask             what columns there are, and which words they hold: everyone codes by the union
agree           each node says how many rows the plan uses, or that it does not take part
fit             the same estimator on the same loop as in a simulation; nodes send sums
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..analytics.analyses import choose_analysis
from ..analytics.design import Design
from ..analytics.estimator import Estimator, analysis_registry
from ..analytics.formula import parse_formula
from ..analytics.gaussian_process.regression import GaussianProcess
from ..analytics.hierarchical.penalized import PenalizedRegression
from ..analytics.inputs import EstimatorInput
from ..analytics.model_matrix import MissingValues, Plan, plan_design
from ..analytics.serialization import write_method
from ..analytics.statistics import Answer, Question
from ..engine import Setting
from ..errors import RunError
from ..runs import RunFolder
from ..timing import WaitForAll
from ..training.observers import Observer
from ..typing import Array, Config, Document, Fields, Float64s
from .analysis_config import AnalysisConfig
from .client_config import NodeRows, far_federation
from .engine import FlowerEngine
from .secure_sums.node import check_summable
from .server import check_same_nodes, run_name
from .transport.mailbox import Mailbox, MessageGrid
from .transport.messages import WireMessage

Log = Callable[[str], None]
LARGEST = 2**26
"""Bytes of an answer to a question."""


@dataclass
class RemoteNodes:
    """Nodes that can be asked about their tables."""

    post: MessageGrid
    names: Sequence[str]
    patience: float = 600.0
    log: Log = lambda line: None
    refusals: dict[str, str] = field(default_factory=dict)
    """Why nodes did not answer, by name; the first reason of each."""
    noisy: dict[str, None] = field(default_factory=dict, init=False)
    """Nodes whose answers have noise."""
    group: str = field(default="", init=False)
    """The public keys of all nodes, as JSON, where answers are masked."""

    def ask(self, question: Question) -> dict[str, Answer]:
        """What each node tells; who refuses or is away is said and left out."""
        words = {"about": question.kind, "words": json.dumps(dict(question.words))}
        found = self.request("question", words, {k: np.asarray(v) for k, v in question.arrays.items()})
        answers = {name: Answer(_read_words(name, one), one.arrays) for name, one in found.items()}
        self.noisy |= {name: None for name, answer in answers.items() if "noise" in answer.words}
        return answers

    def request(self, kind: str, words: Fields, arrays: Fields | None = None) -> dict[str, WireMessage]:
        """The answers to a request, by the nodes' names."""
        mailbox = Mailbox(self.post, list(self.names), limit=LARGEST)
        requests = {i: dict(words) for i in range(len(self.names))}
        found, _ = mailbox.ask(kind, requests, arrays or {}, kind, self.patience)
        for event in mailbox.events():
            reason = str(event.get("reason", event["kind"]))
            self.refusals.setdefault(str(event["name"]), reason)
            self.log(f"node {event['name']} does not answer: {reason}")
        return {self.names[i]: found[i] for i in sorted(found) if found[i].kind == "answer"}

    def check_all(self) -> None:
        """Raise where a node has not answered, with its reason."""
        if self.refusals:
            reasons = "; ".join(f"{name}: {why.rstrip('.')}" for name, why in self.refusals.items())
            raise RunError(
                f"{len(self.refusals)} of {len(self.names)} nodes do not take part ({reasons}), and all are "
                "required (--require-all)."
            )


def agree_with_nodes(
    nodes: RemoteNodes, formula: str, missing: MissingValues = "drop"
) -> tuple[EstimatorInput, Plan]:
    """What the nodes that take part make of a formula: their numbers of rows stand for their rows."""
    plan = plan_design(nodes, formula, missing)
    found = nodes.request("rows", {"plan": json.dumps(plan.write())})
    sizes = {name: _count(name, answer, "rows") for name, answer in found.items()}
    if not sizes:
        reasons = "; ".join(f"{name}: {why.rstrip('.')}" for name, why in nodes.refusals.items())
        raise RunError(f"no node takes part in {formula!r} ({reasons or 'nobody answered'}).")
    dropped = {name: _count(name, answer, "dropped") for name, answer in found.items()}
    width = len(plan.terms)
    rows = [NodeRows(n, 0, 0, 0, (width,), (), ("float64", "float64")) for n in sizes.values()]
    far = far_federation(rows, names=tuple(sizes)).with_importance("equal")
    design = Design(far, plan.terms, parse_formula(formula).response, plan.varying)
    absent = {name: nodes.refusals.get(name, "no answer") for name in nodes.names if name not in sizes}
    return EstimatorInput(
        design, plan, {name: n for name, n in dropped.items() if n}, absent, tuple(nodes.noisy)
    ), plan


def estimator_for_nodes(text: str, settings: Config | None = None) -> tuple[Estimator, str]:
    """The estimator and the formula that such words mean; refused where nodes would have to tell rows."""
    name, formula = choose_analysis(text)
    made = analysis_registry.make(name)
    made.set_params(**{**made.usual_elsewhere, **(settings or {})})
    made.check_elsewhere()
    return made, formula


def analyse_nodes(
    text: str,
    post: MessageGrid,
    names: Sequence[str],
    folder: RunFolder,
    *,
    settings: Config | None = None,
    missing: MissingValues = "drop",
    patience: float = 600.0,
    resume: bool = False,
    observer: Observer | None = None,
    log: Log = lambda line: None,
    agreed: tuple[EstimatorInput, Plan] | None = None,
    group: str | None = None,
) -> Estimator:
    """Fit an analysis such as `linear: y ~ age + sex` to the tables of nodes.

    Args:
        text: The analysis and its formula.
        post: How nodes are reached.
        names: The nodes.
        folder: Where the run is kept.
        settings: Settings of the analysis.
        missing: What becomes of rows with missing values.
        patience: Seconds to wait for an answer.
        resume: Whether the folder holds a run to resume.
        observer: Whoever is called after every round.
        log: Where to report.
        agreed: What the nodes agreed on; they are asked whether they take part if it is not given.
        group: The public keys of the nodes of secure sums; without it, answers are in the open.
    """
    made, formula = estimator_for_nodes(text, settings)
    given, plan = agreed or agree_with_nodes(RemoteNodes(post, names, patience, log), formula, missing)
    taking_part = list(given.design.federation.names or ())
    check_same_nodes(folder, taking_part)
    if given.absent and not resume:
        away = [
            {"kind": "not taking part", "name": name, "reason": why} for name, why in given.absent.items()
        ]
        folder.record.write_round(0, {}, events=away)
    mailbox = Mailbox(post, taking_part)
    engines: list[FlowerEngine] = []

    def engine(setting: Setting) -> FlowerEngine:
        method, sizes = write_method(setting.algorithm), setting.federation.train.sizes
        run = f"{run_name(folder)}{len(engines)}"
        units = made.units() if isinstance(made, GaussianProcess) else None
        place = (len(sizes), int(sizes.max()), setting.seed, units)
        told = [AnalysisConfig(run, method, plan.write(), i, *place) for i in range(len(sizes))]
        if group is None:
            engines.append(FlowerEngine(setting, mailbox, told, patience))
        else:
            from .secure_sums.server import SecureSumEngine

            check_summable(setting.algorithm)
            engines.append(SecureSumEngine(setting, mailbox, told, patience).hide_uploads(group))
        return engines[-1]

    fitted = made.fit(given, engine=engine, out=folder, resume=resume, observer=observer, timing=WaitForAll())
    _check_refusals(fitted.run.events())  # type: ignore[attr-defined]
    message = fitted.run.message  # type: ignore[attr-defined]
    if isinstance(fitted, PenalizedRegression):
        mailbox.limit = LARGEST
        fitted.told = _collect_draws(engines[-1].ask_everyone("coefficients", message), len(plan.terms))
    told = engines[-1].hand_over_model(message)
    log(f"{told} of {len(taking_part)} nodes have the result.")
    return fitted


def _check_refusals(events: Sequence[Fields]) -> None:
    """Raise where a node refused a round: sums without it would be those of other rows."""
    for event in events:
        if event.get("kind") == "refused errand" and event.get("errand") == "train":
            raise RunError(f"node {event['name']} stopped taking part: {event.get('reason')}")


def _read_words(name: str, answer: WireMessage) -> Document:
    try:
        found = json.loads(str(answer.numbers.get("words")))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RunError(f"node {name} answered with something that cannot be read.")
    return found


def _collect_draws(answers: Mapping[int, WireMessage], width: int) -> dict[int, Float64s]:
    """Draws of coefficients, of the devices who told some that can be read."""
    found = {client: answer.arrays.get("draws", np.zeros(0)) for client, answer in answers.items()}
    return {client: draws for client, draws in found.items() if _are_draws(draws, width)}


def _are_draws(draws: Array, width: int) -> bool:
    shaped = draws.ndim == 2 and draws.shape[1] == width and len(draws) > 1
    return shaped and draws.dtype == np.float64 and bool(np.isfinite(draws).all())


def _count(name: str, answer: WireMessage, what: str) -> int:
    value = answer.numbers.get(what)
    if type(value) is not int or not 0 <= value < 2**31:
        raise RunError(f"node {name} does not say how many {what} it has.")
    return value
