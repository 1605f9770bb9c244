"""The result of a verification: claims, and a table of them."""

from dataclasses import dataclass
from html import escape

__all__ = ["Claim", "VerificationTable"]

_HEADER = ("where", "claim", "deviation", "tolerance", "")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the largest deviation from it.

    Attributes
    ----------
    where : str
        The place in the paper, by its numbering.
    claim : str
        The claim in one sentence.
    deviation : float
        The largest relative deviation that was found.
    tolerance : float
        The largest deviation that rounding, convergence or sampling can explain.
    """

    where: str
    claim: str
    deviation: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the deviation is within the tolerance; NaN is not."""
        return self.deviation <= self.tolerance

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The cells of the claim's row, as text."""
        return (
            self.where,
            self.claim,
            f"{self.deviation:.1e}" if self.deviation else "0",
            f"{self.tolerance:.0e}" if self.tolerance else "0",
            "ok" if self.passed else "FAILED",
        )


class VerificationTable(tuple[Claim, ...]):
    """A tuple of :class:`Claim` in the order of the paper; it prints as a table."""

    __slots__ = ()

    @property
    def passed(self) -> bool:
        """Whether every claim holds."""
        return all(claim.passed for claim in self)

    @property
    def summary(self) -> str:
        """How many claims hold, in one line."""
        return f"{sum(claim.passed for claim in self)} of {len(self)} claims hold"

    def __str__(self) -> str:
        rows = [_HEADER, *(claim.cells for claim in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:  # text is aligned to the left, numbers to the right
            cells = map(format, row, map("{}{}".format, "<<>><", widths))
            lines.append("  ".join(cells).rstrip())
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, "", self.summary])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{cell}</th>" for cell in _HEADER)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in claim.cells) + "</tr>"
            for claim in self
        )
        return (
            f"<table>\n<caption>{self.summary}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>"
        )
