"""`unalike network`: design the overlay on which silos exchange models, compare designs, and draw them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.markup import escape
from rich.status import Status

from ...core.catalog import check_name
from ...core.csv_text import csv_lines
from ...errors import ConfigError
from ...typing import Document, Keywords
from ..help import Program
from ..screen import console, print_json, show_rows, show_summary, stderr

if TYPE_CHECKING:
    from ...topology import Connectivity, Design

network = Program()
DESIGNS = "star,matcha,matcha+,mst,delta-mbst,ring,search"
SAMPLED = 200
"""Rounds that are drawn to judge random overlays."""

UNDERLAY = typer.Option(
    "gaia", help="Map, GML file, or CSV file of measured pairs (`unalike list underlays`)."
)
WORKLOAD = typer.Option(
    "sub-inaturalist", help="Model size and time of a local step (`unalike list workloads`)."
)
STEPS = typer.Option(1, "--local-steps", min=1, help="Local steps between two exchanges.")
ACCESS = typer.Option(10.0, min=1e-6, help="Capacity of access links, in Gbit/s.")
CORE = typer.Option(1.0, min=1e-6, help="Capacity of the links between routers, in Gbit/s.")
SEED = typer.Option(0, min=0, help="Same seed, same design.")
JSON = typer.Option(False, "--json", help="Print as JSON.")


@network.callback()
def start() -> None:
    """Who hears whom, how long a round takes, and how close that is to the best."""


@network.command("design")
def design_overlay(
    name: str = typer.Option("search", "--design", help="Designer (`unalike list networks`)."),
    underlay: str = UNDERLAY,
    workload: str = WORKLOAD,
    local_steps: int = STEPS,
    access: float = ACCESS,
    core: float = CORE,
    effort: int | None = typer.Option(
        None, min=0, help="How long to look for a proof that nothing is faster (500 up to 30 silos, else 0)."
    ),
    out: Path | None = typer.Option(None, help="Write the overlay as a CSV file of sender,receiver."),
    seed: int = SEED,
    json: bool = JSON,
) -> None:
    """Design an overlay and say how far from optimal it can be.

    Example: unalike network design --underlay gaia --access 1 --workload inaturalist
    """
    check_names(underlay, workload, name)
    from ...topology import Overlay, certify, design

    if out is not None:
        check_place(out)
    silos = load_silos(underlay, workload, local_steps, access, core, seed)
    with stderr.status("designing") as status:
        progress = progress_printer(status)
        chosen = design(name, silos, seed, progress)
        proof = certify(silos, chosen, effort, progress) if isinstance(chosen, Overlay) else None
    answer = describe_design(chosen, silos)
    if isinstance(chosen, Overlay) and proof is not None:
        answer |= {
            "bottleneck": chosen.critical(silos).words(silos.names),
            "no overlay is below (ms)": proof.lower,
            "gap to optimal": chosen.cycle_time(silos) / proof.lower - 1 if proof.lower > 0 else 0.0,
        }
        if out is not None:
            pairs = [(silos.names[i], silos.names[j]) for i, j in np.argwhere(chosen.arcs)]
            from ...runs.atomic import write_bytes

            write_bytes(out, csv_lines(pairs).encode())
            answer["written to"] = str(out)
    if json:
        print_json(answer)
        return
    show_summary(answer, f"{chosen.name} on {underlay}, {len(silos)} silos")


@network.command("compare")
def compare_overlays(
    designs: str | None = typer.Option(
        None, help=f"Designers, separated by commas ({DESIGNS}; without matcha+ where there is no map)."
    ),
    underlay: str = UNDERLAY,
    workload: str = WORKLOAD,
    local_steps: int = STEPS,
    access: float = ACCESS,
    core: float = CORE,
    rounds: int = typer.Option(60, min=0, help="Rounds to train for the prediction; 0 for none."),
    target: float = typer.Option(
        0.97, min=0.01, max=1, help="Accuracy to reach, as a part of the best on the first overlay."
    ),
    seed: int = SEED,
    json: bool = JSON,
) -> None:
    """Cycle time, throughput, messages and mixing of several designs, and when each would reach a target.

    The prediction trains a small model on every overlay and counts rounds; seconds are those of the network.

    Example: unalike network compare --underlay aws-na --access 0.1 --workload femnist
    """
    check_names(underlay, workload, *(word.strip() for word in (designs or "").split(",") if word.strip()))
    from ...topology import design

    silos = load_silos(underlay, workload, local_steps, access, core, seed)
    usual = DESIGNS if silos.links is not None else DESIGNS.replace("matcha+,", "")  # which needs a map
    given = usual if designs is None else designs
    names = list(dict.fromkeys(word.strip() for word in given.split(",") if word.strip()))
    if not names:
        raise ConfigError("name at least one design, such as --designs star,ring.")
    with stderr.status("designing") as status:
        chosen = {name: design(name, silos, seed, progress_printer(status)) for name in names}
    rows = [{"design": name, **describe_design(one, silos)} for name, one in chosen.items()]
    if rounds:
        from ...advice.topology_race import race

        found = race(chosen, silos, rounds=rounds, part=target, seed=seed)
        for row in rows:
            finish = found[row["design"]]
            row |= {"rounds to target": finish.rounds, "seconds to target": finish.seconds}
    if json:
        print_json({"underlay": underlay, "silos": len(silos), "rows": rows})
        return
    show_rows(
        [{k: v for k, v in row.items() if k != "notes"} for row in rows], f"{underlay}, {len(silos)} silos"
    )


@network.command("show")
def show_overlay(
    name: str = typer.Option("ring", "--design", help="Designer (`unalike list networks`)."),
    underlay: str = UNDERLAY,
    workload: str = WORKLOAD,
    local_steps: int = STEPS,
    access: float = ACCESS,
    core: float = CORE,
    picture: Path = typer.Option(Path("network.png"), help="Where to draw."),
    seed: int = SEED,
    json: bool = JSON,
) -> None:
    """Draw map, overlay and the circuit that sets the pace.

    Example: unalike network show --underlay gaia --design mst
    """
    check_names(underlay, workload, name)
    from ...report import save
    from ...report.network_plots import network_map
    from ...topology import Overlay, design

    silos = load_silos(underlay, workload, local_steps, access, core, seed)
    chosen = design(name, silos, seed)
    pace = chosen.cycle_time(silos)
    fixed = isinstance(chosen, Overlay)
    arcs = chosen.arcs if fixed else chosen.mixing(0) > 0  # type: ignore[attr-defined]
    arcs = np.array(arcs) & ~np.eye(len(silos), dtype=bool)
    circuit = chosen.critical(silos) if isinstance(chosen, Overlay) else None
    words = f"{chosen.name} on {underlay}: {pace:.1f} ms per round"
    save(network_map(silos, arcs, circuit, words), picture)
    answer = describe_design(chosen, silos)
    if circuit is not None:
        answer["bottleneck"] = circuit.words(silos.names)
    if json:
        print_json({**answer, "picture": str(picture)})
        return
    show_summary(answer, words)
    console.print(f"Drawn to [bold]{escape(str(picture))}[/bold].", soft_wrap=True)


def check_names(underlay: str, workload: str, *designs: str) -> None:
    """Raise for a name that does not exist, before anything slow is imported."""
    if not underlay.endswith((".csv", ".gml")) and not Path(underlay).is_file():
        check_name("underlays", underlay)
    check_name("workloads", workload)
    for name in designs:
        check_name("networks", name)


def load_silos(
    underlay: str, workload: str, local_steps: int, access: float, core: float, seed: int
) -> Connectivity:
    """The silos on a map or in a file of measurements."""
    from ...topology import GIGABIT, connect, read_measurements

    settings: Keywords = {"local_steps": local_steps, "access": access * GIGABIT}
    if underlay.endswith(".csv"):
        return read_measurements(underlay, workload, **settings)
    return connect(underlay, workload, core=core * GIGABIT, seed=seed, **settings)


def progress_printer(status: Status) -> Callable[[str, float], None]:
    """Progress as words on the screen, where there is one."""
    return lambda words, done: status.update(f"{words}: {done:.0%}")


def check_place(out: Path) -> None:
    """Refuse a file that could not be written in the end, before any work."""
    if out.is_dir():
        raise ConfigError(f"--out {out} is a folder; name a file in it, such as {out / 'overlay.csv'}.")
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out} cannot be written, because there is no folder {out.parent}; make it.")


def describe_design(chosen: Design, silos: Connectivity) -> Document:
    """What a design costs and brings."""
    from ...topology import Overlay, expected_contraction

    pace = chosen.cycle_time(silos)
    rounds = 1 if isinstance(chosen, Overlay) else SAMPLED
    closer = expected_contraction([chosen.mixing(k) for k in range(rounds)])
    return {
        "cycle time (ms)": pace,
        "rounds per second": 1000.0 / pace if pace > 0 else float("inf"),
        "messages": chosen.messages,
        "spectral gap": 1.0 - max(1.0 - closer, 0.0) ** 0.5,
        "notes": chosen.notes,
    }
