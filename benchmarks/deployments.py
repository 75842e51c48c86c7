"""How long is a round between real processes, and what passes the wire?

Two nodes on loopback with TLS train the same network on the same number of rows, steps and batches: once with
`unalike serve` and `join`, once with an app written by hand for Flower and PyTorch, on Flower's own commands.
A counting relay in front of each server adds up the bytes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from environments import PEERS, ensure  # noqa: E402

NODES, ROWS, STEPS, BATCH = 2, 60, 10, 20
PATIENCE = 600.0


class Relay:
    """Passes connections on to a port of this machine and counts bytes, from nodes and to nodes."""

    def __init__(self, target: int) -> None:
        self.target, self.up, self.down = target, 0, 0
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                visitor, _ = self._door.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    visitor.close()
                    continue
                for source, sink, way in ((visitor, server, "up"), (server, visitor, "down")):
                    threading.Thread(target=self._pass, args=(source, sink, way), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                setattr(self, way, getattr(self, way) + len(data))
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Processes(ExitStack):
    """Commands that end, with their children, when the block does."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def start(self, name: str, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a command in the folder, its words in a log there."""
        log = self.enter_context((self.folder / f"{name}.log").open("w"))
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        self.callback(_end, process)
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def rows_of(node: int, folder: Path) -> Path:
    """A node's rows, as a folder with one file."""
    rng = np.random.default_rng(node)
    place = folder / f"rows-{node}"
    place.mkdir()
    x = rng.random((ROWS, 784), dtype=np.float32)
    np.savez(place / f"node-{node}.npz", x=x, y=rng.integers(0, 10, ROWS))
    return place


def ours(rounds: int) -> dict[str, Any]:
    """`unalike serve` and two `unalike join`."""
    program = str(Path(sys.executable).with_name("unalike"))
    with tempfile.TemporaryDirectory() as name, Processes(Path(name)) as processes:
        folder, port = Path(name), free_port()
        subprocess.run(
            [program, "certs", "--nodes", "node-0,node-1"], cwd=folder, check=True, capture_output=True
        )
        work = ["--steps", str(STEPS), "--batch-size", str(BATCH), "--learning-rate", "0.05"]
        plan = ["--rounds", str(rounds), "--evaluate-every", "0", "--checkpoint-every", "0", "--out", "run"]
        server = processes.start(
            "serve",
            [
                program,
                "serve",
                "--address",
                f"127.0.0.1:{port}",
                "--model",
                "mlp:200,200",
                *work,
                *plan,
                "--json",
            ],
        )
        relay = Relay(port)
        for node in range(NODES):
            own = ["--key", f"certs/nodes/node-{node}.key", "--data", str(rows_of(node, folder))]
            processes.start(
                f"node-{node}",
                [program, "join", "--server", f"127.0.0.1:{relay.port}", "--test-fraction", "0", *own],
            )
        if server.wait(PATIENCE):
            raise RuntimeError((folder / "serve.log").read_text()[-2000:])
        return _measured(_our_clock(folder), relay, rounds)


def _our_clock(folder: Path) -> list[float]:
    from unalike.runs import RunFolder

    with RunFolder.open(folder / "run", read_only=True) as run:
        return [float(second) for second in run.record.metrics()["clock"]]


def theirs(rounds: int) -> dict[str, Any]:
    """Flower's SuperLink, two SuperNodes and `flwr run` with the app in `peers/flower_app`."""
    binaries = ensure(HERE / ".peers", PEERS["flower"]).parent
    program = str(Path(sys.executable).with_name("unalike"))
    with tempfile.TemporaryDirectory() as name, Processes(Path(name)) as processes:
        folder, port = Path(name), free_port()
        subprocess.run([program, "certs"], cwd=folder, check=True, capture_output=True)
        certificates = folder / "certs"
        variables = {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "FLWR_HOME": str(folder / "home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "OMP_NUM_THREADS": "1",
        }
        tls = [f"--ssl-{kind}={certificates / file}" for kind, file in TLS.items()]
        serve = ["--host", "127.0.0.1", "--port", str(port), "--disable-runtime-dependency-installation"]
        processes.start("superlink", [str(binaries / "flower-superlink"), *tls, *serve], **variables)
        relay = Relay(port)
        for node in range(NODES):
            link = [
                "--superlink",
                f"127.0.0.1:{relay.port}",
                "--root-certificates",
                str(certificates / "ca.pem"),
            ]
            own = ["--node-config", f"node={node}", "--port", str(free_port())]
            processes.start(f"node-{node}", [str(binaries / "flower-supernode"), *link, *own], **variables)
        (folder / "home").mkdir(exist_ok=True)
        (folder / "home" / "config.toml").write_text(
            f'[superlink]\ndefault = "bench"\n\n[superlink.bench]\naddress = "127.0.0.1:{port}"\n'
            f'root-certificates = "{certificates / "ca.pem"}"\n'
        )
        laps = folder / "laps.json"
        config = f'num-server-rounds={rounds} out="{laps}" rows={ROWS} steps={STEPS} batch={BATCH}'
        _submit(binaries, folder, config, variables)
        _wait_for(laps)
        found = json.loads(laps.read_text())
        return _measured(found["laps"], relay, rounds) | {"computing": statistics.median(found["computing"])}


TLS = {"certfile": "server.pem", "keyfile": "server.key", "ca-certfile": "ca.pem"}


def _submit(binaries: Path, folder: Path, config: str, variables: dict[str, str]) -> None:
    """Hand the app to the SuperLink, which may still be starting."""
    command = [
        str(binaries / "flwr"),
        "run",
        str(HERE / "peers" / "flower_app"),
        "bench",
        "--run-config",
        config,
    ]
    for attempt in range(10):
        time.sleep(3)
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
        )
        if not done.returncode:
            return
        if attempt == 9:
            raise RuntimeError(done.stdout + done.stderr)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{path.name} was not written; the logs beside it say why.")
        time.sleep(0.5)
    time.sleep(0.2)


def _measured(times: list[float], relay: Relay, rounds: int) -> dict[str, Any]:
    laps = np.diff(times)[1:]  # the first round starts everything
    return {
        "seconds a round": float(np.median(laps)),
        "slowest round": float(laps.max()),
        "megabytes a round": (relay.up + relay.down) / 1e6 / rounds,
    }


def deployments(rounds: int) -> dict[str, Any]:
    """Both, one after the other."""
    return {"unalike": ours(rounds), "Flower and PyTorch": theirs(rounds)}


def show_deployments(answer: dict[str, Any]) -> None:
    """A table."""
    print(f"\n{NODES} nodes, 784-200-200-10, {STEPS} steps of {BATCH} rows, loopback with TLS\n")
    names = list(next(iter(answer.values())))
    print(f"{'':22}" + "".join(f"{name:>20}" for name in names) + f"{'model':>10}")
    for who, found in answer.items():
        print(
            f"{who:22}" + "".join(f"{found[name]:>20.2f}" for name in names) + f"{4 * 199_210 / 1e6:>8.2f}MB"
        )
