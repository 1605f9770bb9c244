"""Divergences: how far data is from the product of weights and topics, and how updates lower it.

============================ ==================================================================
:class:`KullbackLeibler`     for counts; a pass shares each count out over the components, and
                             the priors absorb the expected counts (EM)
:class:`Beta`                Itakura-Saito, squared distances and all between; a pass sums the
                             gradient, and multiplicative updates follow from it (MM)
:class:`NegativeBinomial`    for counts that vary more than Poisson counts; also by MM, and the
                             dispersion is learned
============================ ==================================================================

A new divergence subclasses :class:`Majorized` and writes its value and the two parts of its
gradient; ``docs/extending-divergences.md`` does so in one file.
"""

from isotopic.divergences.base import Divergence, RowSums
from isotopic.divergences.beta import BETA_NAMES, Beta, exact_values
from isotopic.divergences.gradient_pass import GradientPass, dense_row_blocks
from isotopic.divergences.kullback_leibler import KullbackLeibler
from isotopic.divergences.majorized import Majorized
from isotopic.divergences.negative_binomial import NegativeBinomial

__all__ = [
    "BETA_NAMES",
    "Beta",
    "Divergence",
    "GradientPass",
    "KullbackLeibler",
    "Majorized",
    "NegativeBinomial",
    "RowSums",
    "dense_row_blocks",
    "exact_values",
]
