"""What all estimators say of their parameters and attributes, written once."""

from typing import TypeVar

COMMON_PARAMETERS = """\
solver : {"auto", "accelerated", "joint", "alternating", "coordinate", "online", "incremental"}
        Or a solver object.
        ``"joint"`` is the paper's update of both sides from one pass over the data, for normalised
        topics; ``"alternating"`` takes two passes (Lee & Seung); ``"accelerated"`` takes the joint
        update further along its way. ``"coordinate"`` makes Newton steps, one entry of a factor at
        a time, for points without a distribution. ``"auto"``, the default, is the accelerated one,
        which for such points goes over to coordinate descent at the end and begins in single
        precision, each if the data is large enough for it.
        ``"online"`` and ``"incremental"`` update the topics after each mini-batch.
    init : {"auto", "random", "nndsvd", "spectral", "kmeans"}, pair of arrays, or fitted model
        Where the fit starts. ``"auto"`` is ``"random"`` for factors, and for Bayesian sides
        ``"nndsvd"`` and some passes with posterior means, which keep variational updates from
        getting stuck; for several ``"online"`` mini-batches it is ``"random"``. ``"spectral"``
        looks for anchor words. Of row blocks they see samples that fit into memory. A pair
        ``(weights, topics)`` is taken as the factors, or for a Bayesian side as the posterior's
        parameters. A fitted model of any kind hands over the counts that it explains, or if it
        was fitted to another number of samples only its topics.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-4 (of LDA 3e-3)
        Stop when the optimality residual, the share of all counts that an update would move, is
        at most this. With 0, exactly ``max_iter`` iterations are made.
    min_gain : float, default=0.0
        Stop also when another pass would gain less than this: what the passes of the last ten
        iterations lowered the objective by, on average and for each count of ``X`` (in nats). With
        0, only ``tol`` decides.
    n_init : int, default=1
        Fits from that many independent starts; the one with the lowest objective is kept.
    warm_start : bool, default=False
        Whether another ``fit`` goes on from where the last one ended.
    fixed_topics : array-like of shape (n_fixed, n_features) or None, default=None
        The first topics, given and held; the others are learned. (Normalised like the others.)
    seeds : dict or array-like of shape (n_components, n_features) or None, default=None
        Counts that the topics have beforehand. ``{0: ["sea", "ship"]}`` seeds topic 0 with two
        features, each with as many counts as it has in ``X``; ``{0: {"sea": 50.0}}`` says how
        many. Features are column names or numbers.
    forbidden : dict or array-like of shape (n_components, n_features) or None, default=None
        Features that must not occur in a topic, as ``{0: ["sea"]}`` or as a mask.
    missing : {"nan"} or None, default=None
        Whether NaN in ``X`` is a missing entry rather than an error.
    n_jobs : int or None, default=None
        Threads. ``None`` uses every core: the result has the same bits for any number.
    random_state : int, Generator, RandomState or None, default=None
        Of the random start.
    callbacks : callable, list of callables or None, default=None
        Each is called with an :class:`~isotopic.solvers.Iteration` after every iteration; one that
        returns ``True`` stops the fit. Those of scikit-learn are set with ``set_callbacks``.
    verbose : int, default=0
        Show progress: a live line on a terminal if rich is installed, else a line every so many
        iterations."""

COMMON_ATTRIBUTES = """\
components_ : ndarray of shape (n_components, n_features)
        The topics (the mean of a Bayesian side).
    weights_ : ndarray of shape (n_samples, n_components)
        The weights of the samples that were fitted (the mean of a Bayesian side); with size
        factors, for size one.
    weights_posterior_, components_posterior_ : ndarray
        Parameters of a Bayesian side's posterior, of the same shape; ``None`` for a point, NaN
        for fixed topics.
    weights_posterior_rate_, components_posterior_rate_ : ndarray
        Rates of a side with Gamma posteriors, whose shapes are above; ``None`` otherwise.
    objective_ : float
        What was minimised; see :meth:`isotopic.problem.Pair.objective`.
    n_iter_ : int
        Iterations made.
    converged_ : bool
        Whether the optimality residual reached ``tol``, or the gain of a pass ``min_gain``.
    history_ : structured ndarray
        A row for each iteration: ``iteration``, ``passes``, ``seconds``, ``objective``,
        ``residual``.
    sample_totals_ : ndarray of shape (n_samples,)
        The sum of each sample that was fitted.
    n_features_in_, feature_names_in_ : int, ndarray of str
        What ``X`` had; names only if it had any."""

_Class = TypeVar("_Class", bound=type)


def documented(cls: _Class) -> _Class:
    """Fill the shared parameters and attributes into a class's docstring."""
    if cls.__doc__:  # absent under python -OO
        cls.__doc__ = cls.__doc__.replace("%(parameters)s", COMMON_PARAMETERS).replace(
            "%(attributes)s", COMMON_ATTRIBUTES
        )
    return cls
