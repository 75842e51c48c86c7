"""Other traces of a forgotten client (statistics, plots, traces), and their replacement.

Erased are the best model, checkpoints, pages and figures, the record of all rounds, what is known of columns,
and the folders of earlier retrainings. What the retraining has measured on the remaining clients takes their
place: its record, its best model and its facts. What remains nevertheless is said in the certificate.
"""

from __future__ import annotations

import shutil

from ..core.catalog import separate
from ..core.run_files import BEST, CHECKPOINTS, CONFIG, OURS, RECORD, SEAL, UNLEARNING
from ..data.facts import facts_of
from ..runs.atomic import remove_file, remove_leftovers, write_bytes
from ..training.fingerprint import KEY
from ..training.run import Run
from ..trust.unlearning.requests import Request
from .forget_plan import ForgettingRun

FORGOTTEN, FORGETTING = "forgotten", "forgetting"
"""Words about a run: how many clients were forgotten, and whether that is not finished."""


ABOUT_THE_TRAINING = ("best", KEY)
"""Words about a run that were computed from its clients: its best round, and the digests of its rows."""


def erase_traces(run: ForgettingRun, request: Request) -> None:
    """Erase all but the histories that a restart needs, the journal and the certificates."""
    kept = {run.path / CONFIG, run.path / SEAL, *run.path.glob(f"{RECORD}*")}
    for path in (path for pattern in OURS for path in run.path.glob(pattern)):
        if path not in kept and run.home not in path.parents and path.is_file():
            remove_file(path)
    remove_leftovers(run.path)  # a writer that was killed may have left a model
    for folder in (run.path / CHECKPOINTS, run.path / "plots"):
        shutil.rmtree(folder, ignore_errors=True)
    for number in range(1, request.number):
        shutil.rmtree(run.retraining(number), ignore_errors=True)
    record = run.folder.record
    record.erase(ABOUT_THE_TRAINING)
    record.set_meta(FORGOTTEN, str(len(run.log.forgotten)))
    record.set_meta(FORGETTING, "true")


def show_retraining(run: ForgettingRun, request: Request, trained: Run) -> None:
    """Let the run's folder say what the retraining has measured on the remaining clients."""
    record = run.folder.record
    record.erase()
    record.copy_rounds(trained.record, without=run.log.forgotten)
    for word, said in trained.record.meta().items():
        if word in ABOUT_THE_TRAINING:
            record.set_meta(word, said)
    best = run.retraining(request.number) / BEST
    if best.is_file():
        write_bytes(run.path / BEST, best.read_bytes())
    run.folder.save_facts(facts_of(trained.setting.federation))
    record.set_meta(FORGETTING, "false")


def what_remains(run: ForgettingRun, request: Request) -> list[str]:
    """What of the clients is still somewhere, and who must protect it."""
    found = []
    if any(node.round > 0 for node in request.nodes):
        found.append(
            "earlier models without noise in the run folder's history, in which forgotten clients are up to "
            "their sensitivity; later requests need them: whoever keeps the folder must encrypt it and never "
            "release them"
        )
    if not request.fresh:
        found.append(
            "in that history, one norm and the weight of every client's upload in each round up to the "
            "restart, and what each client weighed, by which later requests are checked"
        )
    found.append(
        f"in {UNLEARNING}/ the names of forgotten clients, when they asked, and in the journal where "
        "training started again, which depends on their rows; do not publish it"
    )
    found.append(
        f"in {SEAL}, digests of files that were erased, such as earlier models; whoever "
        "can guess such a file can recognize it"
    )
    outside = [words for words in separate(run.experiment.track or "") if words != "jsonl"]
    if outside:
        found.append(f"what {', '.join(outside)} logged of the earlier training, outside the folder")
    if list(run.home.glob("quality-*.json")):
        found.append("what --quality measured on the clients' own rows; delete quality-*.json after reading")
    if run.experiment.prepare is not None and run.experiment.prepare.endswith(".json"):
        found.append(f"{run.experiment.prepare}, if rows of the clients were counted in it")
    found.append(
        "what clients, backups and receivers of earlier models, pages (such as those of audits and "
        "comparisons, beside the folder) and exports hold: their owners must erase it"
    )
    return found
