"""NumPy's Generator and RandomState, with their exact state."""

from typing import Any

import numpy as np

from isotopic.archive.nodes import Decode, Encode, Place, checked, checked_object, show

_BIT_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
_SEED_PARTS = ("entropy", "spawn_key", "n_children_spawned")


def encode_generator(generator: np.random.Generator, place: Place, encode: Encode) -> Any:
    """Return the state, and the seed from which the generator spawns others."""
    bits = generator.bit_generator
    seed = bits.seed_seq
    standard = np.random.SeedSequence(0).pool_size
    if type(seed) is not np.random.SeedSequence or seed.pool_size != standard:
        raise TypeError(
            f"{show(place)}: cannot save a Generator that was not seeded by a plain SeedSequence; "
            f"this one has {seed!r}."
        )
    parts = {name: seed.state[name] for name in _SEED_PARTS}  # type: ignore[literal-required]
    return encode({"state": _check_state(bits.state, place), "seed": parts}, place)["dict"]


def decode_generator(content: Any, depth: int, decode: Decode) -> np.random.Generator:
    """Return the Generator that ``encode_generator`` encoded."""
    content = checked_object(content, {"state", "seed"})
    seed = checked_object(decode(content["seed"], depth + 1), set(_SEED_PARTS))
    if seed["entropy"] is None:
        raise ValueError("The seed of a Generator has no entropy.")
    state = decode(content["state"], depth + 1)
    return np.random.Generator(_bit_generator(state, np.random.SeedSequence(**seed)))


def encode_random_state(generator: np.random.RandomState, place: Place, encode: Encode) -> Any:
    """Return the state; a RandomState does not spawn."""
    return encode(_check_state(generator.get_state(legacy=False), place), (*place, ".state"))


def decode_random_state(content: Any, depth: int, decode: Decode) -> np.random.RandomState:
    """Return the RandomState that ``encode_random_state`` encoded."""
    state = decode(content, depth + 1)
    generator = np.random.RandomState(_bit_generator(state, np.random.SeedSequence(0)))
    generator.set_state(state)
    return generator


def _check_state(state: Any, place: Place) -> Any:
    """Return the state; raise unless it belongs to one of NumPy's bit generators."""
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise TypeError(
            f"{show(place)}: cannot save a bit generator that is not one of NumPy's own."
        )
    return state


def _bit_generator(state: Any, seed: np.random.SeedSequence) -> np.random.BitGenerator:
    """Return a bit generator with this state and this seed."""
    name = checked(state, dict).get("bit_generator")
    if name not in _BIT_GENERATORS:
        raise ValueError(f"The bit generator {name!r} is not one of NumPy's own.")
    made: Any = _BIT_GENERATORS[name](seed)
    # NumPy does not check these positions in its buffers.
    if name == "MT19937" and not 0 <= checked(state["state"]["pos"], int) <= 624:
        raise ValueError("The position of an MT19937 is outside of its state.")
    if name == "MT19937" and not np.any(state["state"]["key"]):
        raise ValueError("The state of an MT19937 is zero, so it would only produce zeros.")
    if name == "Philox" and not 0 <= checked(state["buffer_pos"], int) <= 4:
        raise ValueError("The position of a Philox is outside of its buffer.")
    made.state = state
    bits: np.random.BitGenerator = made
    return bits
