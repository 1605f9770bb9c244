"""Backgrounds of known groups: given weights of components that only samples of a group have."""

from numbers import Real
from typing import Any

import numpy as np

from isotopic.arrays import Array, is_missing
from isotopic.containers import align_table, sample_names_of
from isotopic.counts import CountMatrix


def group_weights(X: Any, groups: Any, *, share: float = 0.3, levels: Any = None) -> Array:
    r"""Return weights that give each known group of samples a background topic of its own.

    Pass them as ``fixed_weights`` to a Poisson model (GammaPoisson, NMF, PoissonFactorization) with
    as many more components as there are groups. The first components then belong to the groups:

    .. math:: x_d \sim \operatorname{Poisson}\Big(s N_d \, b_{g(d)} + \sum_k h_{dk} t_k\Big)

    with the total :math:`N_d` and the group :math:`g(d)` of a sample, the share :math:`s` and the
    learned background :math:`b_g` of each group. What all samples of a batch, a study or an author
    have in common goes there, and does not become a topic; the other topics are shared by all
    groups.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or AnnData of shape (n_samples, n_features)
        The counts, for the totals of the samples.
    groups : array-like of shape (n_samples,)
        The group of each sample. A pandas Series is aligned with the names of the samples.
    share : float, default=0.3
        The share of each sample that the background of its group explains, between 0 and 1.
    levels : sequence or None, default=None
        The groups in the order of the components; by default sorted. For new samples pass the
        groups of the fitted ones.

    Returns
    -------
    weights : ndarray of shape (n_samples, n_groups)

    Notes
    -----
    The background is additive: it cannot make a word rarer in a group than in the shared topics,
    and it is the same for all topics. If a group goes along with what is studied, such as a
    treatment that only one batch had, nothing can tell the two apart.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import GammaPoisson, group_weights
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> batch = ["a", "b"] * 10
    >>> given = group_weights(X, batch)
    >>> given.shape
    (20, 2)
    >>> model = GammaPoisson(2 + 3, shape=0.3, rate=0.01, tol=1e-2, random_state=0)
    >>> shared = model.fit(X, fixed_weights=given).weights_[:, 2:]
    >>> shared.shape
    (20, 3)
    """
    if not (isinstance(share, Real) and 0 < share < 1):
        raise ValueError(f"share must be between 0 and 1 (exclusive), not {share!r}.")
    totals = CountMatrix.of(X).sample_totals
    aligned = align_table("groups", groups, samples=sample_names_of(X))
    labels = np.asarray(aligned, dtype=object)
    if labels.shape != (len(totals),):
        raise ValueError(
            f"groups must have a label for each of the {len(totals)} samples, but has the shape "
            f"{labels.shape}."
        )
    found = set(labels.tolist())
    if any(map(is_missing, found)):
        raise ValueError("groups has no label for some samples. Give them one, or leave them out.")
    known = sorted(found, key=str) if levels is None else list(levels)
    if len(set(known)) < len(known):
        raise ValueError(f"levels has a group twice: {known}. Each has one component.")
    unknown = found - set(known)
    if unknown:
        raise ValueError(
            f"groups has the label {sorted(map(str, unknown))[0]!r}, which is none of {known}."
        )
    belongs = labels[:, np.newaxis] == np.array(known, dtype=object)
    return np.asarray(belongs * (float(share) * totals[:, np.newaxis]), dtype=np.float64)
