"""The report: a fitted model, or two of them, as one HTML file that opens without a network."""

from isotopic.report.compare import ComparedFit
from isotopic.report.comparison_page import write_comparison
from isotopic.report.write import write_report

__all__ = ["ComparedFit", "write_comparison", "write_report"]
