"""Cases of properties, drawn by hypothesis until the time is over."""

import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Property:
    """Something that holds for every case.

    Parameters
    ----------
    holds : callable
        Raises if it does not hold for the case it is given. Its name is the property's name.
    cases : strategy
        The cases print as code that makes them.
    batch : int, default=10
        How many cases to draw before the next property has its turn: few, so that all have one
        on a slow machine, too.
    """

    holds: Callable[[Any], None]
    cases: SearchStrategy[Any]
    batch: int = 10

    @property
    def name(self) -> str:
        """Name of the property."""
        return self.holds.__name__


def hunt(
    properties: list[Property], seconds: float, seed: int, announce: Callable[[str, Any], None]
) -> Iterator[tuple[str, str]]:
    """Take turns with the properties until the time is over; give names and what was found.

    A property that does not hold is shrunk to a small case, reported once and left out from then
    on. ``announce`` gets the name and the case before each one is tried, so that something is
    known of a case that ends the process.
    """
    until, left = time.monotonic() + seconds, list(properties)
    for turn in count():
        for each in list(left):
            if time.monotonic() >= until:
                return
            try:
                _batch(each, seed + turn, announce)
            except Exception:
                yield each.name, traceback.format_exc()
                left.remove(each)
        if not left:
            return


def _batch(each: Property, seed: int, announce: Callable[[str, Any], None]) -> None:
    def holds(case: Any) -> None:
        announce(each.name, case)
        each.holds(case)

    limits = settings(
        max_examples=each.batch,
        phases=[Phase.generate, Phase.shrink],
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    hypothesis.seed(seed)(limits(given(case=each.cases)(holds)))()
