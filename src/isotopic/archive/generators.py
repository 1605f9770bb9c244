"""NumPy's Generator and RandomState, which continue where they were."""

from typing import Any

import numpy as np

from isotopic.archive.checks import checked, checked_object
from isotopic.archive.containers import encode_fields
from isotopic.archive.place import Decode, Encode, Place, show

_BIT_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
_SEED_PARTS = ("entropy", "spawn_key", "n_children_spawned")


def encode_generator(
    generator: np.random.Generator, place: Place, encode: Encode
) -> dict[str, Any]:
    """Give the state, and the seed from which the generator spawns others."""
    bits = generator.bit_generator
    seed = bits.seed_seq
    standard = np.random.SeedSequence(0).pool_size
    if type(seed) is not np.random.SeedSequence or seed.pool_size != standard:
        raise TypeError(
            f"{show(place)}: a Generator can be saved if it was seeded by a plain "
            f"SeedSequence, from which it spawns; this one has {seed!r}"
        )
    parts = {name: seed.state[name] for name in _SEED_PARTS}  # type: ignore[literal-required]
    return encode_fields({"state": _known(bits.state, place), "seed": parts}, place, encode)


def decode_generator(content: Any, depth: int, decode: Decode) -> np.random.Generator:
    """Undo ``encode_generator``."""
    content = checked_object(content, {"state", "seed"})
    seed = checked_object(decode(content["seed"], depth + 1), set(_SEED_PARTS))
    if seed["entropy"] is None:
        raise ValueError("a Generator's seed has no entropy")
    state = decode(content["state"], depth + 1)
    return np.random.Generator(_bit_generator(state, np.random.SeedSequence(**seed)))


def encode_random_state(generator: np.random.RandomState, place: Place, encode: Encode) -> Any:
    """Give the state; a RandomState does not spawn."""
    return encode(_known(generator.get_state(legacy=False), place), (*place, ".state"))


def decode_random_state(content: Any, depth: int, decode: Decode) -> np.random.RandomState:
    """Undo ``encode_random_state``."""
    state = decode(content, depth + 1)
    generator = np.random.RandomState(_bit_generator(state, np.random.SeedSequence(0)))
    generator.set_state(state)
    return generator


def _known(state: Any, place: Place) -> Any:
    """Give the state, which must be that of a bit generator of NumPy's own."""
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise TypeError(f"{show(place)}: the bit generator is not one of NumPy's own")
    return state


def _bit_generator(state: Any, seed: np.random.SeedSequence) -> np.random.BitGenerator:
    """Make a bit generator with that state and the seed from which it spawns others."""
    name = checked(state, dict).get("bit_generator")
    if name not in _BIT_GENERATORS:
        raise ValueError(f"the bit generator {name!r} is not one of NumPy's own")
    made: Any = _BIT_GENERATORS[name](seed)
    # NumPy believes these positions in its buffers, wherever they point.
    if name == "MT19937" and not 0 <= checked(state["state"]["pos"], int) <= 624:
        raise ValueError("the position of an MT19937 is outside of its state")
    if name == "MT19937" and not np.any(state["state"]["key"]):
        raise ValueError("the state of an MT19937 is zero, from which it cannot leave")
    if name == "Philox" and not 0 <= checked(state["buffer_pos"], int) <= 4:
        raise ValueError("the position of a Philox is outside of its buffer")
    made.state = state
    bits: np.random.BitGenerator = made
    return bits
