"""The random number generator of the whole package."""

from numbers import Integral
from typing import TypeAlias

import numpy as np

Seed: TypeAlias = int | np.integer | np.random.Generator | np.random.RandomState | None


def generator(random_state: Seed) -> np.random.Generator:
    """Return a Generator for a ``random_state`` in the sense of scikit-learn.

    A Generator is returned unchanged, a RandomState seeds a new one, an integer gives the same
    numbers every time, and ``None`` different ones. The global generator is never used.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    is_seed = isinstance(random_state, Integral) and int(random_state) >= 0
    if not (random_state is None or is_seed or isinstance(random_state, np.random.Generator)):
        raise ValueError(
            "random_state must be None, an integer of at least 0, a numpy.random.Generator or a "
            f"numpy.random.RandomState, not {random_state!r:.100}."
        )
    return np.random.default_rng(random_state)
