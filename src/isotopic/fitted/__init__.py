"""The result of a fit as one frozen value, and functions of it.

:class:`Fitted` is the value. Everything else is a plain function of it, in a module that says what
the function does:

============== ==========================================================================
``inference``  infer the weights of new samples (``transform``), score them
``explained``  the expected counts that a model stands for
``warm_start`` the point of a model as the start of another fit
``online``     update the topics with another batch of samples (``partial_fit``)
``reordering`` put components into another order, merge some of them
``generation`` draw new samples, and data near what was fitted (for the bootstrap)
``intervals``  credible intervals
``effects``    what covariates do to the weights
``summaries``  tables of topics and samples
============== ==========================================================================

Nothing here knows estimators: they hold a ``Fitted`` as ``fitted_`` and call these functions.
"""

from isotopic.fitted.offsets import NO_OFFSETS, Offsets
from isotopic.fitted.value import Fitted, OnlineMemory, fitted_of, read_feature_names, select_rows

__all__ = [
    "NO_OFFSETS",
    "Fitted",
    "Offsets",
    "OnlineMemory",
    "fitted_of",
    "read_feature_names",
    "select_rows",
]
