"""One kind of random numbers for the whole package."""

from numbers import Integral
from typing import TypeAlias

import numpy as np

Seed: TypeAlias = int | np.integer | np.random.Generator | np.random.RandomState | None


def generator(random_state: Seed) -> np.random.Generator:
    """Make a Generator of what scikit-learn users pass as ``random_state``.

    A Generator is used as it is (and moves on), a RandomState seeds a new one, an integer gives
    the same numbers every time, ``None`` new ones. The global generator is never touched.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    whole = isinstance(random_state, Integral) and int(random_state) >= 0
    if not (random_state is None or whole or isinstance(random_state, np.random.Generator)):
        raise ValueError(
            "random_state must be None, a whole number of at least 0, a Generator or a "
            f"RandomState, not {random_state!r}"
        )
    return np.random.default_rng(random_state)
