"""One line of a terminal that is written over and over."""

import os
import shutil
import threading
import time
from contextlib import suppress
from typing import Any, Self, TextIO

# Seconds between two drawings.
_PAUSE = 0.1

_ERASE = "\r\x1b[2K"


def can_show_live_lines(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can erase a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class LiveLine:
    """A context in which a line shows the latest text and how long the context has lasted.

    A thread draws it, so that time goes on while the caller computes.

    Parameters
    ----------
    stream : file
        A terminal.
    keep : bool, default=False
        Whether the line stays when the context ends.
    """

    def __init__(self, stream: TextIO, *, keep: bool = False) -> None:
        self.stream, self.keep = stream, keep
        self.text = ""
        self._start = time.monotonic()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._draw_repeatedly, daemon=True)

    def show(self, text: str) -> None:
        """Replace the text."""
        self.text = text

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._has_ended.set()
        self._thread.join()
        with suppress(OSError, ValueError):  # the terminal may be gone, which is no reason to fail
            self._draw()  # the latest text is seen, however short the context was
            self.stream.write("\n" if self.keep else _ERASE)
            self.stream.flush()

    def _draw_repeatedly(self) -> None:
        with suppress(OSError, ValueError):
            while not self._has_ended.wait(_PAUSE):
                self._draw()

    def _draw(self) -> None:
        seconds = int(time.monotonic() - self._start)
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        # One column stays free: a full line would make some terminals begin the next one.
        line = f"{clock} {self.text}"[: _columns(self.stream) - 1]
        self.stream.write(_ERASE + line)
        self.stream.flush()


def _columns(stream: TextIO) -> int:
    """Return the width of a terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # no file, or none that has a size
        columns = 0
    return columns or shutil.get_terminal_size().columns
