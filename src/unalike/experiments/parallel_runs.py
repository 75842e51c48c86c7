"""Parallel runs: several processes, each with one device.

Every process trains one run after the other into its folder; nothing but progress comes back. The process
that started them hears Ctrl-C alone and tells the others once, so that each ends after its round, with a
checkpoint; whoever does not in time is ended. If the one that started them dies, they end, too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from ..core.plugins import load_inherited
from ..data import Federation
from ..errors import RunError
from ..training.observers import Observer
from ..training.round_report import RoundReport
from .build import make_task
from .config import Experiment
from .planned_runs import PlannedRun, RunMaterial, train_planned

PATIENCE = 10.0
"""Seconds that a run gets to end its round and save it after Ctrl-C."""
_LOOK = 0.1
ONE_CORE = {"UNALIKE_CORES": "1"}
_news: Any = None
"""In a process that trains: where its rounds are told..."""
_stop: Any = None
"""...and whether it is to stop before it has begun."""


def train_in_parallel(
    plan: Sequence[PlannedRun],
    jobs: int,
    federation_of: Callable[[Experiment], Federation],
    overwrite: bool = False,
    observer: Observer | None = None,
    announce: Callable[[str], None] = lambda words: None,
) -> None:
    """Train all runs, so many at a time; an error of one ends them all."""
    if not plan:
        return
    context = multiprocessing.get_context("spawn")
    news, stop = context.Queue(), context.Event()
    waiting, going, seen = list(enumerate(plan)), set[Future[None]](), Rounds(len(plan))
    with _environment(ONE_CORE), ProcessPoolExecutor(jobs, context, _begin, (news, stop)) as pool:
        try:
            while waiting or going:
                # No more than there are processes, so that none is waiting to begin after Ctrl-C.
                while waiting and len(going) < jobs:
                    number, planned = waiting.pop(0)
                    announce(planned.title)
                    with _unheard():
                        going.add(pool.submit(_train, number, planned, federation_of, overwrite))
                done, going = wait(going, _LOOK, FIRST_COMPLETED)
                while not news.empty():
                    seen.hear(news.get(), observer)
                for future in done:
                    future.result()
        except BrokenProcessPool:
            raise RunError("a process that trained a run ended suddenly; the same command goes on.") from None
        except BaseException:
            stop.set()
            _end(going)
            raise


class Rounds:
    """What was heard of all runs, as if they were one."""

    def __init__(self, runs: int) -> None:
        self._runs, self._done = runs, dict[int, tuple[int, int]]()

    def hear(self, told: tuple[int, int, int, dict[str, float]], observer: Observer | None) -> None:
        """One round of one run; runs that were not heard of are taken to be as long as the others."""
        number, done, rounds, metrics = told
        self._done[number] = (done, rounds)
        expected = sum(rounds for _, rounds in self._done.values()) * self._runs // len(self._done)
        if observer is not None:
            observer(RoundReport(sum(done for done, _ in self._done.values()), metrics), expected)


def _begin(news: Any, stop: Any) -> None:
    """What a process does before its first run: Ctrl-C at the terminal is not for it."""
    global _news, _stop
    _news, _stop = news, stop
    load_inherited()
    threading.Thread(target=_follow, daemon=True).start()
    if hasattr(os, "setpgrp"):
        os.setpgrp()


def _follow() -> None:
    """End with the process that started this one, however that ends; runs survive it as they survive a
    crash."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _train(
    number: int, planned: PlannedRun, federation_of: Callable[[Experiment], Federation], overwrite: bool
) -> None:
    """Train one run, in another process."""

    def tell(report: RoundReport, rounds: int) -> None:
        _news.put((number, report.round, rounds, report.metrics))

    federation = federation_of(planned.experiment)
    material = RunMaterial(federation, make_task(planned.experiment, federation))
    if _stop.is_set():
        raise KeyboardInterrupt
    run = train_planned(planned, material, overwrite, tell)
    if run.folder is not None:
        run.folder.close()


def _end(going: set[Future[None]]) -> None:
    """Let every run end its round and save it, and end the processes."""
    children = multiprocessing.active_children()
    for child in children if hasattr(os, "setpgrp") else ():
        if child.pid is not None and child.is_alive():
            os.kill(child.pid, signal.SIGINT)
    try:
        wait(going, PATIENCE)
    finally:
        for child in children:
            child.terminate()


@contextmanager
def _unheard() -> Iterator[None]:
    """Processes that are started inside do not hear Ctrl-C before they train."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables that processes inherit which are started inside."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
