"""The report: a fitted model as one HTML file that opens in any browser and fetches nothing."""

from isotopic.report.write import write_report

__all__ = ["write_report"]
