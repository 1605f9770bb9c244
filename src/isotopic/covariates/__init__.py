"""Covariates: what is known of samples besides their counts, as columns of numbers."""

from isotopic.covariates.design import Covariates, Design
from isotopic.covariates.reading import metadata_of, read_covariates, read_table

__all__ = ["Covariates", "Design", "metadata_of", "read_covariates", "read_table"]
