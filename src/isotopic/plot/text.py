"""Preparing text from data for drawing."""

import unicodedata
from functools import lru_cache
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.evaluate.topics import named_topics
from isotopic.fitted import Fitted, fitted_of, read_feature_names

_REPLACEMENTS = ("\N{REPLACEMENT CHARACTER}", "?")


def readable(text: Any, width: int = 24, *, cut: str = "end") -> str:
    r"""Return a line of at most ``width`` characters that matplotlib draws literally.

    A longer one is cut at its ``end`` or in the ``middle``, which keeps the number of a sample.

    Line breaks and tabs become spaces; control characters, such as those that change the
    direction of text, are removed; ``$`` does not begin a formula; and characters that no font of
    ``rcParams["font.family"]`` has are replaced.

    Examples
    --------
    >>> from isotopic.plot.text import readable
    >>> print(readable("a\nb $x$"))
    a b \$x\$
    """
    line = " ".join(str(text).split())
    line = "".join(c for c in line if unicodedata.category(c) not in ("Cc", "Cf"))
    if len(line) > width:
        left = width - 1 if cut == "end" else width // 2
        rest = line[len(line) - (width - 1 - left) :]
        line = f"{line[:left]}\N{HORIZONTAL ELLIPSIS}{rest}"
    fonts = _fonts()
    unknown = next((c for c in _REPLACEMENTS if _has(c, fonts)), "?")
    return "".join(c if _has(c, fonts) else unknown for c in line).replace("$", r"\$")


def topic_names(given: Any, n: int, model: Any = None) -> list[str]:
    """Return the given names of topics, or those of the model, or names made of their numbers."""
    fitted = model if isinstance(model, Fitted) else getattr(model, "fitted_", None)
    if given is None and isinstance(fitted, Fitted) and fitted.topic_names is not None:
        numbered = enumerate(fitted.topic_names)
        given = [name or f"topic {k}" for k, name in numbered]
    if given is None:
        return [f"topic {i}" for i in range(n)]
    names = [readable(name) for name in given]
    if len(names) != n:
        raise ValueError(f"names has {len(names)} entries, but there are {n} topics.")
    return names


def names_of_features(model: Any, given: Any) -> Array:
    """Return the given names of features, or those of the model, or ``x0``, ``x1``, ..."""
    if isinstance(model, Fitted) or hasattr(model, "fitted_"):
        return read_feature_names(fitted_of(model), given)
    named = named_topics(model)
    n, given = named.shape[1], named.feature_names if given is None else given
    names = np.asarray([f"x{i}" for i in range(n)] if given is None else given, dtype=object)
    if names.shape != (n,):
        raise ValueError(f"feature_names has {names.size} entries, but there are {n} features.")
    return names


@lru_cache(maxsize=4096)
def _has(character: str, fonts: tuple[str, ...]) -> bool:
    from matplotlib.font_manager import get_font  # noqa: PLC0415 - an extra

    return any(get_font(path).get_char_index(ord(character)) for path in fonts)


def _fonts() -> tuple[str, ...]:
    """Return the font files that matplotlib searches for characters."""
    from matplotlib import rcParams  # noqa: PLC0415 - an extra

    families: list[str] = []
    for family in rcParams["font.family"]:
        families += rcParams.get(f"font.{family}", [family])
    return _files(tuple(families))


@lru_cache(maxsize=16)
def _files(families: tuple[str, ...]) -> tuple[str, ...]:
    from matplotlib.font_manager import findfont, fontManager  # noqa: PLC0415 - an extra

    installed = {font.name for font in fontManager.ttflist}
    found = [str(findfont(family)) for family in families if family in installed]
    return tuple(found) or (str(findfont("DejaVu Sans")),)
