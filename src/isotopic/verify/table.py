"""What a verification found, as rows and as a table."""

from dataclasses import dataclass
from html import escape

__all__ = ["Claim", "VerificationTable"]

_HEADER = ("where", "claim", "deviation", "tolerance", "")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how far the numbers are from it.

    Attributes
    ----------
    where : str
        Where the paper says it, by its own numbers.
    claim : str
        What it says, in one sentence.
    deviation : float
        The largest relative deviation seen.
    tolerance : float
        The largest deviation that rounding, convergence or sampling explains.
    """

    where: str
    claim: str
    deviation: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the claim holds to its tolerance; a deviation that is not a number does not."""
        return self.deviation <= self.tolerance

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The row as text."""
        return (
            self.where,
            self.claim,
            f"{self.deviation:.1e}" if self.deviation else "0",
            f"{self.tolerance:.0e}" if self.tolerance else "0",
            "ok" if self.passed else "FAILED",
        )


class VerificationTable(tuple[Claim, ...]):
    """The claims in the paper's order: a tuple of :class:`Claim` that prints as a table."""

    __slots__ = ()

    @property
    def passed(self) -> bool:
        """Whether every claim holds."""
        return all(claim.passed for claim in self)

    @property
    def summary(self) -> str:
        """Say in one line how many claims hold."""
        return f"{sum(claim.passed for claim in self)} of {len(self)} claims hold"

    def __str__(self) -> str:
        rows = [_HEADER, *(claim.cells for claim in self)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
        lines = [_line(row, widths) for row in rows]
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


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """Text to the left, numbers to the right."""
    where, claim, *numbers, status = (
        f"{cell:>{width}}" if column in (2, 3) else f"{cell:<{width}}"
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join((where, claim, *numbers, status)).rstrip()
