"""`unalike audit`: membership-inference audit of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.run_files import check_run
from ...errors import ConfigError
from ...typing import Keywords
from ..options import TRUST
from ..screen import console, print_json, show_rows, stderr
from .audit_curves import audit_curves, beside

if TYPE_CHECKING:
    from ...privacy.audit.report_card import ReportCard

_SHOWN = 10


def audit(
    folders: list[Path] = typer.Argument(
        ...,
        help="Run folders, of finished runs; several are compared. With --vary also an experiment's file.",
    ),
    vary: list[str] = typer.Option(
        [],
        help="KNOB=VALUES: train again for each value and audit each, such as --vary werm.weight=0,0.5,1 "
        "--vary rounds=5,20 --vary memguard=0,0.5. A knob is an option of a method, a setting, or a defense.",
        show_default="the run as it is",
    ),
    regimes: str | None = typer.Option(
        None,
        help="With --vary: who is best where reference rows are public, equal (as private as training rows), "
        "private (hardly leak), or shifted (another distribution; shifted:0.5 by half a deviation), such as "
        "public,private.",
        show_default="no such table",
    ),
    defense: str | None = typer.Option(
        None,
        help="Defense between the finished run and who attacks it, such as memguard:0.5 "
        "(`unalike list defenses`).",
        show_default="none",
    ),
    references: int = typer.Option(16, min=1, help="Reference models to compare with, at least 4."),
    kind: str | None = typer.Option(
        None,
        help="How they are trained: cohort (together) or runs (the experiment again for each).",
        show_default="runs where clients have models of their own",
    ),
    reference: str | None = typer.Option(
        None,
        help="Reference rows to attack, too: own (of the method), validation or none.",
        show_default="the method's own, else validation rows, if there are any",
    ),
    sensitivity: float | None = typer.Option(
        None,
        min=0,
        help="What a reference row's privacy is worth against a training row's.",
        show_default="what the run declares, or 1",
    ),
    rows: int = typer.Option(10_000, min=20, help="Rows to look at, at most."),
    delta: float = typer.Option(1e-5, help="Delta of the lower bound on epsilon."),
    seed: int = typer.Option(0, min=0, help="Same seed, same audit."),
    page: Path | None = typer.Option(
        None, help="Page to write.", show_default="RUN-audit.html beside the run"
    ),
    json: bool = typer.Option(False, "--json", help="Print the report card as JSON."),
    trust_file: bool = TRUST,
) -> None:
    """Audit a finished run by membership inference: utility, leakage of training rows and of reference rows.

    Measured, not guaranteed: other attacks may do better. The run folder is not changed.

    With --vary, the run's experiment is trained again for every value of every knob: a table and a figure of
    each defense's curve, and which defense dominates which in all three metrics.

    Example: unalike audit runs/digits-fedavg-seed0 --references 16

    Curves: unalike audit runs/digits-fedavg-seed0 --vary werm.weight=0,0.25,0.5,0.75,1 --vary adv-reg.lam=0,3
    --regimes public,equal,private,shifted
    """
    if not 0 <= delta < 1:
        raise ConfigError(f"delta must be at least 0 and below 1, but is {delta:g}.")
    settings: Keywords = {
        **{"references": references, "kind": kind, "sensitivity": sensitivity},
        **{"rows": rows, "delta": delta, "seed": seed},
    }
    if vary:
        audit_curves(folders, vary, defense, reference, page, json, settings, trust_file, regimes)
        return
    if regimes is not None:
        raise ConfigError(
            "regimes compare defenses over their knobs; say which with --vary, such as --vary "
            "werm.weight=0.5,0.9,1."
        )
    for folder in folders:
        check_run(folder)
    if page is not None and len(folders) > 1:
        raise ConfigError("--page names one page, but every run gets its own; leave it out.")
    from ...experiments.audit import audit as audit_folder
    from ...report.audit_report import report_audit

    cards: dict[str, ReportCard] = {}
    pages = {}
    for folder in folders:
        with stderr.status(f"training {references} reference models and attacking {folder}"):
            cards[str(folder)] = audit_folder(folder, reference=reference, defense=defense, **settings)
        title = f"Privacy audit of {folder.resolve().name}"
        pages[str(folder)] = report_audit(cards[str(folder)], page or beside(folder), title)
    answers = {name: {**card.as_dict(), "page": str(pages[name])} for name, card in cards.items()}
    if json:
        print_json(answers if len(answers) > 1 else next(iter(answers.values())))
        return
    if len(cards) > 1:
        compare(cards)
    else:
        show_card(next(iter(cards.values())))
    for written in pages.values():
        console.print(f"Open [bold]{escape(str(written))}[/bold] for curves and all clients.", soft_wrap=True)


def compare(cards: dict[str, ReportCard]) -> None:
    """Print the three metrics of several runs, and who is better in all of them."""
    from ...privacy.audit.tradeoff import check_knob, compare_cards, say_dominance

    show_rows(compare_cards(cards), "privacy report cards")
    console.print(escape(say_dominance(cards)), style="bold", soft_wrap=True, highlight=False)
    odd = check_knob(list(cards.values()))
    if odd is not None:
        console.print(odd, soft_wrap=True)


def show_card(card: ReportCard) -> None:
    """Print a report card: the three metrics, attacks, who leaks most, and one sentence."""
    from ...privacy.audit.report_card import summarize

    show_rows(card.rows(), "privacy report card")
    for part in (card.training, card.reference):
        if part is None:
            continue
        show_rows([one.readable() for one in part.attacks], f"attacks on {part.what} rows")
        for name, found in (("client", part.clients), ("group", part.groups)):
            lines = [{name: one.name, "accuracy": str(one.accuracy)} for one in found[:_SHOWN]]
            if len(lines) > 1:
                show_rows(lines, f"who leaks most ({part.what} rows, {part.strongest})")
    bound = card.training.epsilon
    console.print(f"Measured: epsilon of a row is at least {bound.epsilon:.2f} (delta {bound.delta:g}).")
    for name, value in card.declared.items():
        console.print(f"Declared: {name.replace('_', ' ')} {value:.4g}.")
    for name, value in card.combined.items():
        console.print(f"Combined: {name.replace('_', ' ')} {value:.4g}.")
    for note in card.notes:
        console.print(escape(note), soft_wrap=True, highlight=False)
    console.print(escape(summarize(card)), style="bold", soft_wrap=True, highlight=False)
