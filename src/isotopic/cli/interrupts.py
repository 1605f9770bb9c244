"""Treat SIGTERM like Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interruption:
    """The exit code of a command that was interrupted: 130 for Ctrl-C, 143 for SIGTERM."""

    exit_code: int = 130


@contextmanager
def sigterm_as_interrupt() -> Iterator[Interruption]:
    """Let SIGTERM raise ``KeyboardInterrupt`` as Ctrl-C does, and record which of them came."""
    interruption = Interruption()

    def terminate(*_: Any) -> None:
        interruption.exit_code = 128 + signal.SIGTERM
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only it receives signals
        yield interruption
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGTERM, before)
