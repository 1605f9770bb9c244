"""Judge topics: by themselves, compared with each other, and on held-out counts.

The functions take a fitted model, or topics as an array (components x features), and counts.
"""

from isotopic.evaluate.coherence import coherence
from isotopic.evaluate.completion import completion_perplexity, completion_score, split_counts
from isotopic.evaluate.differential import Differential, differential, distinctive_terms
from isotopic.evaluate.entries import held_out_likelihood
from isotopic.evaluate.groups import compare_groups
from isotopic.evaluate.periods import over_time
from isotopic.evaluate.scoring import completion_scorer
from isotopic.evaluate.topics import diversity, exclusivity, prevalence, proportions

__all__ = [
    "Differential",
    "coherence",
    "compare_groups",
    "completion_perplexity",
    "completion_score",
    "completion_scorer",
    "differential",
    "distinctive_terms",
    "diversity",
    "exclusivity",
    "held_out_likelihood",
    "over_time",
    "prevalence",
    "proportions",
    "split_counts",
]
