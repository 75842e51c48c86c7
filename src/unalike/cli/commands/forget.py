"""`unalike forget`: unlearn clients of a finished run, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ...core.run_files import check_run
from ...errors import ConfigError
from ..interrupted import can_go_on
from ..screen import LiveRounds, console, print_json, show_rows, show_summary

if TYPE_CHECKING:
    from ...experiments.forget import Forgotten


def forget(
    folder: Path = typer.Argument(..., help="The run folder, of a run with --unlearning."),
    client: list[str] = typer.Option([], "--client", help="Client to forget, by name; may be repeated."),
    epsilon: float = typer.Option(1.0, help="How much likelier any outcome may be with the client."),
    delta: float = typer.Option(0.01, help="Probability with which that may fail."),
    sigma: float = typer.Option(0.05, help="Deviation of the noise that hides what is left."),
    calibration: Literal["exact", "classic"] = typer.Option(
        "exact", help="How noise follows from the budget; classic is a theorem below epsilon 1 only."
    ),
    rule: Literal["max", "group", "path"] = typer.Option(
        "max", help="What must be hidden: each client alone, all together, or along all retrainings."
    ),
    rounds: int | None = typer.Option(
        None, min=0, max=10**9, help="Rounds to retrain at most.", show_default="as the run was trained"
    ),
    stop_at: str | None = typer.Option(
        None, help="Stop as soon as a metric is reached.", show_default="as the run was trained"
    ),
    quality: bool = typer.Option(
        False, "--quality", help="Measure on the client's own rows what is left of it."
    ),
    compare: bool = typer.Option(
        False,
        "--compare",
        help="Change nothing; compare unlearning schemes on this run: rounds, what is left, guarantees.",
    ),
    clip: float | None = typer.Option(
        None, help="With --compare: clipping norm of training with privacy (dp).", show_default="0.5"
    ),
    out: Path | None = typer.Option(
        None,
        help="With --compare: folder for results, table and page; what is there is not repeated.",
        show_default="RUN-schemes, beside the run",
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would happen, and change nothing."),
    resume: bool = typer.Option(False, "--resume", help="Resume a request that was interrupted."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Unlearn clients: restart from a model that holds little of them, add noise, and retrain without them.

    With --compare: scratch, fine-tuning, noise on the last model, training with differential privacy,
    FedAccum and SIFU. After Ctrl-C, the same command resumes.

    Example: unalike forget runs/digits-fedavg-seed0 --client 3 --epsilon 1 --delta 0.01 --sigma 0.05
    """
    check_run(folder)
    _check_options(client, dry_run, resume, quality, compare, {"clip": clip, "out": out})
    from ...experiments.forget import forget as forget_clients
    from ...experiments.forget import prepare_nodes, resume_forgetting
    from ...trust.unlearning.calibration import Budget

    if compare:
        from .forget_compare import compare as compare_schemes

        how = {"rule": rule, "rounds": rounds, "stop_at": stop_at} | (
            {"clip": clip} if clip is not None else {}
        )
        budget = Budget(epsilon, delta, sigma, calibration)
        compare_schemes(folder, client, budget, out=out, quiet=quiet, json=json, **how)
        return
    if _is_served(folder):
        budget = Budget(epsilon, delta, sigma, calibration)
        if dry_run:
            _say_plan(folder, client, budget, rule, (rounds, stop_at), json)
            return
        if quality:
            raise ConfigError("--quality needs the client's rows, which are at its node.")
        request = prepare_nodes(folder, client, budget, rule=rule, rounds=rounds, stop_at=stop_at)
        words = f"retrain with the nodes that remain: unalike serve --resume {folder}"
        if json:
            print_json({"request": request.number, "stage": request.stage, "next": words})
        else:
            who = ", ".join(request.names)
            console.print(
                f"Every model that holds too much of {who}, and what was measured, is erased; {words}"
            )
        return
    if resume:
        with LiveRounds(quiet or json, "retraining") as progress:
            _conclude(resume_forgetting(folder, progress), json)
        return
    budget = Budget(epsilon, delta, sigma, calibration)
    if dry_run:
        _say_plan(folder, client, budget, rule, (rounds, stop_at), json)
        return
    can_go_on("unalike forget --resume", folder)
    with LiveRounds(quiet or json, "retraining") as progress:
        done = forget_clients(
            folder,
            client,
            budget,
            rule=rule,
            rounds=rounds,
            stop_at=stop_at,
            quality=quality,
            observer=progress,
        )
    _conclude(done, json)


def _check_options(
    client: list[str],
    dry_run: bool,
    resume: bool,
    quality: bool,
    compare: bool,
    of_comparisons: Mapping[str, object],
) -> None:
    """Raise where options contradict each other; `of_comparisons` are those that need --compare."""
    if resume and (client or dry_run or compare):
        raise ConfigError("--resume goes on with the request that was interrupted; leave out the others.")
    if compare and (dry_run or quality):
        raise ConfigError("--compare changes nothing and measures by itself; leave out the others.")
    for name, given in of_comparisons.items():
        if given is not None and not compare:
            raise ConfigError(f"--{name} goes with --compare.")


def _is_served(folder: Path) -> bool:
    """Whether the run's clients are elsewhere."""
    from ...runs import RunFolder

    with RunFolder.open(folder, read_only=True) as opened:
        return opened.config.get("engine") == "flower"


def _say_plan(folder: Path, client: list[str], budget: Any, rule: Any, length: Any, json: bool) -> None:
    from ...experiments.forget import plan_forgetting

    facts = plan_forgetting(folder, client, budget, rule=rule, rounds=length[0], stop_at=length[1])
    if json:
        print_json(facts)
        return
    show_summary({k: v for k, v in facts.items() if v is not None}, "what forgetting would do")
    console.print("Nothing was changed. Where it restarts depends on the client's rows: do not publish it.")


def _conclude(done: Forgotten, json: bool) -> None:
    """Print the certificate."""
    certificate = done.certificate
    if json:
        print_json({**certificate.as_dict(), **({"quality": done.quality} if done.quality else {})})
    else:
        show_rows(certificate.rows(), f"certificate of request {certificate.request}")
        if done.quality:
            shown = {k: "not in time" if v is None else v for k, v in done.quality.items()}
            show_summary(shown, "on the clients' own rows (measured, not guaranteed)")
    if done.run.folder is not None:
        done.run.folder.close()
