"""The training loop that serves every method.

A new method is a new choice of one of its words, not a new loop. What happens around the four lines (which
steps go together, late writing, evaluation, checkpoints, Ctrl-C) is in the objects that they use.
"""

from __future__ import annotations

from ..engine import Engine
from .blocks import Blocks
from .recorder import Recorder
from .training_state import Progress


def train_rounds(blocks: Blocks, engine: Engine, now: Progress, recorder: Recorder) -> None:
    """Train to the last step; Ctrl-C stops after the step at hand, which is saved."""
    for block in blocks:  # some clients, the versions they start from, weights, a clock
        messages = now.history.messages_for(block)  # one model, or one for each client
        state = engine.setting.weigh_round(now.state, block.steps[0].number)  # what a stream's round counts
        outcome = engine.run(block, state, messages, now.memories)  # local work anywhere, then mixing
        recorder.add(block, now.advance(block, outcome))  # history, metrics, checkpoint
    recorder.conclude(stopped=blocks.stopped, refused=blocks.refused)
