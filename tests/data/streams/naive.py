"""The same rules once more, row by row, in the most obvious way."""

from unalike.core.random import bits


def batches(arrivals, rounds):
    """The rows that arrive in each round, by client: places in the order of arrival."""
    past = [0] * len(arrivals.sizes)
    found = []
    for round in range(rounds):
        now = arrivals.arrived(round).tolist()
        found.append([list(range(a, b)) for a, b in zip(past, now, strict=True)])
        past = now
    return found


def fifo(memory, batch, room, **_):
    for row in batch:
        memory = [*memory, row]
        if room is not None and len(memory) > room:
            memory = memory[1:]
    return memory


def replace(memory, batch, room, **_):
    return batch if room is None else batch[-room:]


def freeze(memory, batch, room, **_):
    return memory or (batch if room is None else batch[:room])


def reservoir(memory, batch, room, seed, client, **_):
    """A row comes in; if there is no room, the row of the largest number goes."""
    for row in batch:
        memory = [*memory, row]
        if len(memory) > room:
            memory.remove(max(memory, key=lambda j: int(bits(seed, "reservoir", client, j))))
    return memory


def balanced(memory, batch, room, seed, client, labels, **_):
    """A row comes in; if there is no room, the largest class gives its row of the largest number."""
    for row in batch:
        memory = [*memory, row]
        if len(memory) > room:
            counts = {c: sum(labels[j] == c for j in memory) for c in {labels[j] for j in memory}}
            largest = max(counts, key=lambda c: (counts[c], int(bits(seed, "balanced", client, c))))
            rows = [j for j in memory if labels[j] == largest]
            memory.remove(max(rows, key=lambda j: int(bits(seed, "reservoir", client, j))))
    return memory


class Window:
    """Every row is kept with the round in which it came."""

    def __init__(self, rounds):
        self.rounds, self.time, self.rows = rounds, {}, {}

    def __call__(self, memory, batch, room, client, **_):
        now = self.time[client] = self.time.get(client, -1) + 1
        rows = [*self.rows.get(client, []), *((now, row) for row in batch)]
        rows = [(came, row) for came, row in rows if now - came < self.rounds]
        self.rows[client] = rows
        found = [row for _, row in rows]
        return found if room is None else found[-room:]
