"""Ctrl-C and SIGTERM."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interruption:
    """What interrupted the block, if anything."""

    exit_code: int = 130


@contextmanager
def terminated_as_interrupted() -> Iterator[Interruption]:
    """Let SIGTERM do what Ctrl-C does: raise ``KeyboardInterrupt``."""
    interruption = Interruption()

    def terminate(*_: Any) -> None:
        interruption.exit_code = 128 + signal.SIGTERM
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield interruption
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGTERM, before)
