"""A pool of Ray actors that survives the death of some.

Work is sent to all of them at once. One that dies is started again with the rows of its clients, is told what
they remembered, and computes its part of the round once more: the answer has the same bits as without the
fault. An error in a client's own code is not a fault of the worker, and is raised here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet, finalize

import numpy as np

from ...errors import RunError, UnalikeError
from ...typing import Event, Int64s, Keywords, Memory
from ..base import Setting
from ..debug import ClientError
from .actor_reuse import Actor, dismiss, give, take, waiting
from .replay_log import Log
from .rows import pack
from .session import disconnect
from .worker import Worker, surroundings

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.exceptions import RayTaskError

Reference: TypeAlias = "ObjectRef[Any]"
"""What an actor will have answered."""
Call = Callable[[Actor], Sequence[Reference]]
"""Asks something of an actor: references to its answer, and to what stays in the store."""
MOST_DEATHS = 3
"""Deaths of one worker in one round after which the run ends."""
PATIENCE = 120.0
"""Seconds in which the process of a worker must have found a place and started."""
GO_ON = "go on from the last checkpoint with `unalike resume FOLDER`"

_OPEN: WeakSet[Pool] = WeakSet()


class Pool:
    """Actors, each with its share of the clients and `cores` cores."""

    def __init__(self, ray: ModuleType, setting: Setting, shares: list[Int64s], cores: int) -> None:
        self.ray, self.setting, self.shares, self.cores = ray, setting, shares, cores
        self.owner = np.repeat(np.arange(len(shares)), [len(share) for share in shares])
        self.owner = self.owner[np.argsort(np.concatenate(shares))]
        self.events: list[Event] = []
        self.actors: list[Any] = []
        self.busy = self.closed = False
        around = surroundings(cores)
        self._remote = ray.remote(Worker).options(
            num_cpus=cores, max_restarts=0, scheduling_strategy="SPREAD", runtime_env={"env_vars": around}
        )
        self._kind = (ray.get_runtime_context().get_node_id(), cores, *around.values())
        finalize(self, _hand_on, ray, self._kind, self.actors).atexit = False
        # Their functions may be of the user's script, which workers cannot import: they go by value.
        nouns = ray.cloudpickle.dumps(tuple(setting.server))
        bare: Keywords = {
            "federation": None,
            "task": None,
            "algorithm": None,
            "aggregator": None,
            "devices": cores,
        }
        self._common = (ray.put(setting._replace(**bare)), ray.put(nouns))
        _OPEN.add(self)

    def begin(self, template: Memory) -> None:
        """All workers have their rows, and nobody remembers anything; `template` gives memories' shapes."""
        self._template = template
        self.logs = [Log() for _ in self.shares]
        self.ask({k: lambda actor: [actor.forget.remote(template)] for k in range(len(self.shares))})

    def ask(self, calls: Mapping[int, Call]) -> dict[int, list[Any]]:
        """The answers of some workers, who work at the same time; what follows an answer is not fetched."""
        if self.closed or not self.ray.is_initialized():
            raise RunError("the Ray engine of this run is closed; train or resume with a new one.")
        self.busy = True
        try:
            if not self.actors or None in self.actors:
                self._wake()
            sent = {k: call(self.actors[k]) for k, call in calls.items()}
            return {k: self._answer(k, call, sent[k]) for k, call in calls.items()}
        finally:
            self.busy = False

    def note(self, k: int, remembered: Reference, clients: int) -> None:
        """So many clients of a worker remember something new, which is in the store."""
        log = self.logs[k]
        log.add(remembered, clients)
        if log.due:
            count, snapshot = self.actors[k].everything.options(num_returns=2).remote()
            log.promise(snapshot)
            self._before[k].append(count)

    def rest(self) -> None:
        """Let another training have the workers; the next question starts them again."""
        give(self._kind, self.actors)
        self.actors.clear()
        for log in getattr(self, "logs", ()):
            log.break_promise()

    def close(self) -> None:
        """End the workers, and Ray with them where it was started for them."""
        if self.ray.is_initialized() and not self.closed:
            self._end()
        self.closed = True
        _OPEN.discard(self)
        if not _OPEN:
            dismiss()
            disconnect()

    def _wake(self) -> None:
        self.rest()
        self._make_room()
        everyone = range(len(self.shares))
        self._before: list[list[Reference]] = [[] for _ in everyone]
        self.actors[:] = [None for _ in everyone]
        ready = {k: self._start(k, _ready) for k in everyone}
        self._wait_for(everyone)
        for k, refs in ready.items():
            self._answer(k, _ready, refs)

    def _start(self, k: int, call: Call) -> Sequence[Reference]:
        """A new actor, which takes its rows (the store's copy goes then), learns what its clients remembered,
        and is asked something."""
        self.actors[k] = actor = take(self._kind) or self._remote.remote()
        rows = self.ray.put(pack(self.setting, self.shares[k]))
        placed, begun = actor.ready.remote(), actor.begin.remote(*self._common, rows, self._template)
        replayed = [actor.remember.remote(entry) for entry in self.logs[k].entries]
        self._before[k] = [placed, begun, *replayed]
        return call(actor)

    def _answer(self, k: int, call: Call, refs: Sequence[Reference]) -> list[Any]:
        """What a worker answers; it is started again if it dies, and asked again."""
        errors = self.ray.exceptions
        for death in range(1, MOST_DEATHS + 1):
            try:
                return self._settled(k, refs)
            except errors.RayTaskError as error:
                raise _blame(k, error) from error
            except errors.RayError as error:
                self._bury(k, why := _reason(error), death)
                if death < MOST_DEATHS:
                    refs = self._start(k, call)
                    self._wait_for([k])
        raise RunError(f"worker {k} died {MOST_DEATHS} times in one round ({why}); {GO_ON}.")

    def _settled(self, k: int, refs: Sequence[Reference]) -> list[Any]:
        """The answer, if what was asked of the worker before it went well."""
        try:
            said = self.ray.get(self._before[k])
        except self.ray.exceptions.ObjectLostError:
            raise RunError(
                f"what the clients of worker {k} remembered was lost with a machine; {GO_ON}."
            ) from None
        self._before[k] = []
        for remembering in said:
            if remembering is not None:
                self.logs[k].keep(remembering)
        return [self.ray.get(refs[0]), *refs[1:]]

    def _bury(self, k: int, why: str, death: int) -> None:
        self._kill(k)
        self._before[k] = []
        self.logs[k].break_promise()
        if death < MOST_DEATHS:
            self.events.append({"kind": "worker restarted", "worker": k, "reason": why})

    def _end(self) -> None:
        for k in range(len(self.actors)):
            self._kill(k)
        self.actors.clear()

    def _kill(self, k: int) -> None:
        actor, self.actors[k] = self.actors[k], None
        if actor is not None:
            self.ray.kill(actor, no_restart=True)

    def _make_room(self) -> None:
        """Where cores are lacking, other trainings of this process that are over let their workers go."""
        lacking = len(self.shares) - waiting(self._kind)
        if self._free() < self.cores * lacking:
            for pool in list(_OPEN):
                if pool is not self and not pool.busy:
                    pool.rest()
            dismiss(self._kind)

    def _wait_for(self, started: Sequence[int]) -> None:
        """Do not wait for ever for cores that others have, or that were lost with a machine."""
        placed = [self._before[k][0] for k in started]
        _, late = self.ray.wait(placed, num_returns=len(placed), timeout=PATIENCE, fetch_local=False)
        if late:
            self._end()
            raise RunError(
                f"{len(late)} workers found no machine with {self.cores} free cores in {PATIENCE:g} seconds; "
                f"ask for fewer, such as ray:1, or wait until others are done, then {GO_ON}."
            )

    def _free(self) -> float:
        return float(self.ray.available_resources().get("CPU", 0.0))


def _hand_on(ray: ModuleType, kind: tuple[str, ...], actors: list[Any]) -> None:
    """Nobody asks this pool any more; its workers are of use as long as their cluster is there."""
    if ray.is_initialized() and ray.get_runtime_context().get_node_id() == kind[0]:
        give(kind, actors)


def _ready(actor: Actor) -> Sequence[Reference]:
    return [actor.ready.remote()]


def _blame(k: int, error: RayTaskError) -> UnalikeError:
    """What went wrong in a worker's own code, as a sentence."""
    cause = error.cause
    if isinstance(cause, UnalikeError):
        return type(cause)(str(cause))
    said = " ".join(str(cause).split()) or "no reason given"
    return ClientError(
        f"the clients' work failed on worker {k} ({type(cause).__name__}: {said}); "
        'engine = "debug" says at which client and in which line.'
    )


def _reason(error: Exception) -> str:
    """Why a worker is gone, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[-1] if lines else type(error).__name__
    return said.partition("Worker exit detail: ")[2].partition(" Some common causes")[0] or said
