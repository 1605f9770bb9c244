"""A small table of columns by name."""

from html import escape
from typing import Any

import numpy as np

from isotopic.arrays import Array

_MOST_ROWS_SHOWN = 60


class Table(dict[str, Array]):
    """Columns of equal length by name, in order.

    ``pandas.DataFrame(table)`` and ``polars.DataFrame(table)`` take it as it is.
    """

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
        lines = ("  ".join(map(_justified, row, widths, self.values())).rstrip() for row in cells)
        return "\n".join(lines) + self._rest()

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        rows = "".join(f"<tr>{_html_row(row, 'td')}</tr>" for row in body)
        rest = f"<caption>{escape(self._rest().strip())}</caption>" if self._rest() else ""
        return f"<table>{rest}<thead><tr>{_html_row(head, 'th')}</tr></thead>{rows}</table>"

    def __len__(self) -> int:
        return len(next(iter(self.values()))) if self.keys() else 0

    def __bool__(self) -> bool:
        return True

    def _cells(self) -> list[list[str]]:
        columns = [column[:_MOST_ROWS_SHOWN].tolist() for column in self.values()]
        return [list(self), *([_text(cell) for cell in row] for row in zip(*columns, strict=True))]

    def _rest(self) -> str:
        left = len(self) - _MOST_ROWS_SHOWN
        return f"\n... and {left} more rows" if left > 0 else ""


def _text(cell: Any) -> str:
    """Return a cell with four digits; those of years and totals before the point are all shown."""
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.1f}" if 1e3 <= abs(cell) < 1e7 else f"{cell:.4g}"


def _justified(cell: str, width: int, column: Array) -> str:
    return cell.rjust(width) if np.asarray(column).dtype.kind in "iuf" else cell.ljust(width)


def _html_row(cells: list[str], tag: str) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
