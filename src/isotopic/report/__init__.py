"""The report: a fitted model as one HTML file that opens in any browser without a network."""

from isotopic.report.write import write_report

__all__ = ["write_report"]
