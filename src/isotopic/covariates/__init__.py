"""Covariates: what is known of samples besides their counts, as columns of numbers."""

from isotopic.covariates.columns import as_column, as_days, numbers_in_texts
from isotopic.covariates.design import Covariates, Design
from isotopic.covariates.reading import metadata_of, read_covariates, read_table

__all__ = [
    "Covariates",
    "Design",
    "as_column",
    "as_days",
    "metadata_of",
    "numbers_in_texts",
    "read_covariates",
    "read_table",
]
