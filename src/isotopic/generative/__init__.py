r"""Draw counts from the generative processes of the paper.

Different processes lead to the same distribution of counts. One draws how many times each feature
occurs (Poisson, or multinomial if the total of the row is given), another how many of those each
component contributes, a third draws every single token. The appendix "Equivalent generative models"
proves that they agree. Each function here is one of these processes, so that they can be checked
against each other.

Given weights and topics:

- :func:`poisson`: counts, independent of each other;
- :func:`poisson_contributions`: the same, as sums over components;
- :func:`multinomial`: counts, for a given total of each sample;
- :func:`multinomial_contributions`: the same, as sums over components;
- :func:`word_by_word`: the same, one token after another (PLSA).

Given topics and a prior of the weights:

- :func:`dirichlet_poisson`: Dirichlet proportions (the likelihood of LDA);
- :func:`gamma_poisson`: Gamma weights;
- :func:`dirichlet_negative_binomial`: the same, with proportions and totals drawn separately.

``weights`` is samples x components, ``topics`` components x features, and the counts returned are
samples x features.
"""

from isotopic.generative.draws import Assignments, Latent
from isotopic.generative.processes import (
    dirichlet_negative_binomial,
    dirichlet_poisson,
    gamma_poisson,
    multinomial,
    multinomial_contributions,
    poisson,
    poisson_contributions,
    word_by_word,
)

__all__ = [
    "Assignments",
    "Latent",
    "dirichlet_negative_binomial",
    "dirichlet_poisson",
    "gamma_poisson",
    "multinomial",
    "multinomial_contributions",
    "poisson",
    "poisson_contributions",
    "word_by_word",
]
