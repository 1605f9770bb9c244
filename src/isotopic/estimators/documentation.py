"""The parts of docstrings that several classes or methods share, written once."""

import re
from inspect import signature
from textwrap import indent
from typing import Any

_PARAMETERS = """\
solver : {"auto", "accelerated", "joint", "alternating", "coordinate", "online", "incremental"}
    Or a solver object. ``"joint"`` is the paper's update of both sides from one pass over the data,
    for normalised topics; ``"alternating"`` takes two passes (Lee & Seung); ``"accelerated"``
    extrapolates the joint update. ``"coordinate"`` makes Newton steps, one entry of a factor at a
    time, for point estimates. ``"auto"``, the default, is the accelerated solver. For point
    estimates of data that is large enough it is extrapolated coordinate descent, which begins in
    single precision. ``"online"`` and ``"incremental"`` update the topics after each mini-batch.
init : {"auto", "random", "nndsvd", "spectral", "kmeans", "pooled", "gibbs"}, pair, or fitted model
    Where the fit starts. ``"auto"`` is ``"gibbs"`` for LDA (``"pooled"`` for data that is no
    counts, with covariates, and for other estimates than CVB0), ``"nndsvd"`` for other models of
    counts, and ``"random"`` for other divergences, for point estimates with fixed, seeded or
    forbidden topics and for several ``"online"`` mini-batches. On a Bayesian side some passes with
    posterior means follow, which keep variational updates from getting stuck. ``"spectral"``
    looks for anchor words; ``"pooled"`` merges the topics of ``"nndsvd"`` and ``"spectral"``;
    ``"gibbs"`` takes the mean counts of collapsed Gibbs sampling, from pooled topics up to 128
    components. For row blocks
    these strategies see as many samples as fit into memory. A pair ``(weights, topics)`` is taken
    as the factors, or for a Bayesian side as the parameters of the posterior. A fitted model (or
    its ``fitted_``) with priors of the same kinds is continued exactly: its factors, posteriors and
    learned hyperparameters. From a model of another kind, the expected counts are taken as the
    start. If it was fitted to another number of samples, only its topics are used.
max_iter : int, default=1000
    The largest number of iterations.
tol : float, default=1e-4 (LDA: 3e-3)
    Stop when the optimality residual, the share of all counts that an update would move, is at
    most this. With 0, exactly ``max_iter`` iterations are made.
min_gain : float, default=0.0
    Stop also when a pass gains less than this: the decrease of the objective for each count of
    ``X`` (in nats), averaged over the passes of the last ten iterations. With 0, only ``tol``
    decides.
n_init : int, default=1
    Fits from that many independent starts; the one with the lowest objective is kept, or the
    most likely one where the default of LDA samples.
warm_start : bool, default=False
    Whether another ``fit`` continues from where the last one ended, with the hyperparameters
    that were learned.
fixed_topics : array-like of shape (n_fixed, n_features) or None, default=None
    The first topics, which are not changed by the fit; the others are learned. They are normalised
    like the others.
seeds : dict or array-like of shape (n_components, n_features) or None, default=None
    Pseudo-counts that are added to the topics' expected counts. ``{0: ["sea", "ship"]}`` seeds
    topic 0 with two features, each with as many counts as it has in ``X``; ``{0: {"sea": 50.0}}``
    says how many. Features are column names or numbers.
forbidden : dict or array-like of shape (n_components, n_features) or None, default=None
    Features that must not occur in a topic, as ``{0: ["sea"]}`` or as a mask.
missing : {"nan"} or None, default=None
    Whether NaN in ``X`` is a missing entry rather than an error.
n_jobs : int or None, default=None
    The number of threads; ``None`` uses every core. The result has the same bits for any number.
random_state : int, Generator, RandomState or None, default=None
    The seed of the random start.
callbacks : callable, list of callables or None, default=None
    Each is called with an :class:`~isotopic.solvers.Iteration` after every iteration; one that
    returns ``True`` stops the fit. Set those of scikit-learn with ``set_callbacks``.
verbose : int, default=0
    Show progress: a live line on a terminal; otherwise one line every ``verbose``
    iterations."""

_ATTRIBUTES = """\
fitted_ : Fitted
    The result of the fit. The other attributes are views of it.
components_ : ndarray of shape (n_components, n_features)
    The topics (the mean of a Bayesian side).
weights_ : ndarray of shape (n_samples, n_components)
    The weights of the fitted samples (the mean of a Bayesian side); with size factors, for size
    one.
weights_posterior_, components_posterior_ : ndarray
    Parameters of a Bayesian side's posterior, of the same shape; ``None`` for a point estimate, NaN
    for fixed topics.
weights_posterior_rate_, components_posterior_rate_ : ndarray
    Rates of a side with Gamma posteriors, whose shapes are above; ``None`` otherwise.
objective_ : float
    What was minimised; see :meth:`isotopic.problem.Pair.objective`.
n_iter_ : int
    The number of iterations.
converged_ : bool
    Whether the optimality residual reached ``tol``, or the gain of a pass ``min_gain``.
history_ : structured ndarray
    A row for each iteration: ``iteration``, ``passes``, ``seconds``, ``objective``, ``residual``.
sample_totals_ : ndarray of shape (n_samples,)
    The sum of each fitted sample.
n_features_in_, feature_names_in_ : int, ndarray of str
    Those of ``X``; names only if it had any.
coefficients_, covariate_names_ : ndarray of shape (n_covariates, n_components), ndarray of str
    After a fit with covariates: the coefficients of the logarithms of the concentrations.
effects_ : Table
    After a fit with covariates: coefficients with intervals, and what they do to the expected
    proportions; see ``effects``."""

# The arguments of methods, by name, or by method and name where they mean something of their own.
# An X of methods that take row blocks is that of ``blocks``.
_ARGUMENTS = """\
X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    Non-negative counts (integers or not).
blocks.X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
    Non-negative counts (integers or not). Row blocks are a path, a list of matrices or anything
    else that :func:`~isotopic.open_blocks` takes.
y : ignored
sample_weight : array-like of shape (n_samples,) or None, default=None
    How often each sample counts. A sample weight of 2 is the same as having the sample twice in
    ``X``; a sample with weight 0 does not change the topics.
missing_mask : array-like or sparse matrix of bool of shape (n_samples, n_features)
    True where an entry of ``X`` is missing.
size_factors : float, array-like of shape (n_samples,) or None, default=None
    For Poisson models: the known factor by which a sample's counts are multiplied, such as its
    depth or exposure. The weights are those of a sample of size one.
fixed_weights : array-like of shape (n_samples, n_fixed) or None, default=None
    For Poisson models: the weights of the first components, which are not changed. Together with
    ``fixed_topics`` they are a known background. A model that was fitted with size factors or
    fixed weights needs them for new samples, too.
covariates : data frame, dict of columns, array-like, names of columns, or None, default=None
    For Dirichlet and Gamma weights: what is known of each sample, numbers or groups. The
    concentration of its weights is log-linear in them. Names are those of columns of the metadata
    of ``X`` (AnnData's ``obs``, or what :func:`~isotopic.read_counts` has read). Rows with labels
    are aligned with the samples. A model that was fitted with covariates needs them for new
    samples, too; it finds them in the metadata of ``X`` itself.
formula : str or None, default=None
    How covariates become columns of numbers, such as ``"~ party + spline(year, 5)"``; with the
    library formulaic (``pip install 'isotopic[covariates]'``).
memory_limit : int, str or None, default=None
    For row blocks: the memory that may be used, such as ``"2 GB"``.
client : distributed.Client or None, default=None
    For row blocks: the Dask cluster that does the work.
checkpoint : path or :class:`~isotopic.Checkpoint`, default=None
    The file to which the fit writes its state every minute. If it exists, the fit continues from
    there, and ends with the same bits as if it had never stopped.
feature_names : array-like of str of shape (n_features,) or None, default=None
    By default those of the ``X`` that was fitted, else ``x0``, ``x1``, ...
n : int, default=10
    The number of features listed for each topic.
path : str or path-like
partial_fit.\
X : array-like, sparse matrix or data frame of shape (n_samples, n_features), or row blocks
    Non-negative counts (integers or not). Samples that are too many for one batch, and row blocks,
    are split into several.
inverse_transform.X : array-like of shape (n_samples, n_components)
    Weights.
credible_interval.side : {"weights", "components"}, default="weights"
credible_interval.level : float, default=0.9
    The probability of the interval; the rest is split equally between both sides of it.
credible_interval.\
X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
    The samples whose weights get intervals; by default the fitted samples.
sample.n_samples : int, default=1
sample.random_state : int, Generator, RandomState or None, default=None
topic_info.X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
    The counts from which the coherence is computed, since the model does not keep its data;
    without ``X`` there is no coherence.
topic_info.measure : {"npmi", "umass"}, default="npmi"
    The measure of coherence.
document_info.X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
    Other samples, whose weights are inferred; by default the fitted samples.
document_info.sample_names : array-like of shape (n_samples,) or None, default=None
    By default those of ``X``, or of the fitted samples.
distinctive_terms.X : array-like or sparse matrix of shape (n_samples, n_features)
    The counts that were fitted.
distinctive_terms.versus : {"nearest", "mean"} or int, default="nearest"
    What a topic is compared with: the topic with the nearest rate, the mean topic, or one topic.
distinctive_terms.level : float, default=0.95
    The level of the confidence interval.
effects.covariate : str or None, default=None
    The covariate whose effect on the expected proportions is computed; by default the table has
    the coefficients of all.
effects.values : array-like or None, default=None
    Its values; by default all groups, or up to 21 numbers.
effects.others : {"average", "typical"}, default="average"
    The other covariates: ``"average"`` takes the mean of the proportions over all fitted samples,
    each with its own; ``"typical"`` takes one sample, with means and the most frequent groups.
effects.level : float, default=0.9
    The level of the intervals.
effects.method : {"analytic", "bootstrap"}, default="analytic"
    ``"analytic"`` takes the intervals from the scores of the samples; they account for the
    uncertainty of the weights but not for that of the topics. ``"bootstrap"`` fits data that is
    drawn from the model.
effects.X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
    For the bootstrap: the data that was fitted; see :func:`~isotopic.bootstrap`.
effects.n_resamples : int, default=100
effects.random_state : int, Generator, RandomState or None, default=None
reorder.order : "prevalence" or array-like of int of shape (n_components,), default="prevalence"
    ``order[i]`` is the topic that becomes topic ``i``, as in ``isotopic.match(a, b).order``; or
    the most prevalent first.
merge.groups : list of lists of int
    The topics to merge, such as ``[[0, 3], [2, 5, 6]]``. A group takes the place of its first
    topic; the others keep their order.
merge.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The data that the model was fitted to, for the new objective.
split.topic : int
split.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The data that the model was fitted to.
split.n : int, default=2
    The number of parts.
drop.topics : int or list of int
    The topics to drop; the others keep their order.
drop.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The data that the model was fitted to.
drop_features.features : list of str or int
    Names or column numbers.
drop_features.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The data that the model was fitted to, with all its features.
label.names : dict, list of str, path, Decomposition or callable
    The name of each topic: a dict such as ``{3: "trade"}``, a list with a name (or ``None``) for
    every topic in the order of ``components_``, the path of a JSON file with either, such as the
    ``labels.json`` that the report saves, what :func:`isotopic.decompose` has found, or a function
    that gets the strongest terms of a topic and its main documents, and returns a name. The rows of
    ``topic_info`` have another order: name them with ``dict(zip(info["topic"], names))``.
label.describe : keyword arguments
    What such a function gets: ``feature_names``, ``documents`` (the texts of the fitted samples),
    ``n_terms`` (default: 10) and ``n_documents`` (default: 3).
with_fitted.fitted : Fitted
explore.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The data that the model was fitted to.
explore.port : int, default=0
    The port of the server; 0 is any that is free.
explore.describe : keyword arguments
    ``feature_names``, ``sample_names``, ``documents``, ``metadata`` and ``title``, as for
    :func:`isotopic.report.write_report`; and ``reading``, a dict that says how a pasted text is
    split into words, with the arguments of :func:`isotopic.read_counts`, such as
    ``{"ngrams": (1, 2)}``.
compare.other : fitted estimator
transform.layer : str or None, default=None
    The layer of AnnData with the counts; by default its ``X``.
compare.path : str or path-like
    The file to write. An existing one is kept unless ``overwrite`` is true.
compare.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The counts that both models were fitted to.
compare.other_X : array-like, sparse matrix or data frame or None, default=None
    The counts of the other model, if they are others. Its samples and features are matched by
    name, and its features must have names.
compare.names : pair of str
    What the page calls the two models.
compare.title : str or None, default=None
compare.overwrite : bool, default=False
compare.describe : keyword arguments
    ``feature_names``, ``sample_names`` and ``documents``, as for
    :func:`isotopic.report.write_report`.
report.path : str or path-like
    The file to write. An existing one is kept unless ``overwrite`` is true.
report.X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    The counts to report on: those that were fitted, or others.
report.**options
    ``feature_names``, ``sample_names``, ``documents``, ``metadata``, ``layer`` (of AnnData),
    ``covariates`` (of samples that were not fitted), ``title`` and ``overwrite``,
    as for :func:`isotopic.report.write_report`."""

_DESCRIPTIONS: dict[str, str] = {}  # of the arguments, by what stands before the colon
for _entry in re.split(r"\n(?=\S)", _ARGUMENTS):
    _key = re.split(r"\s", _entry)[0]
    _DESCRIPTIONS[_key.replace("*", "")] = _entry.removeprefix(_key.rpartition(".")[0] + ".")

_SHARED = {"parameters": _PARAMETERS, "attributes": _ATTRIBUTES, "arguments": ""}


def documented(cls: type) -> type:
    """Fill the shared parts into the docstrings of a class and of its methods.

    ``%(arguments)s`` stands for the section that describes the parameters of a method.
    """
    for name, member in (("", cls), *vars(cls).items()):
        item = getattr(member, "fn", member)  # available_if keeps the method there
        doc = getattr(item, "__doc__", None)
        if not isinstance(doc, str):  # absent under python -OO
            continue
        for place, key in re.findall(rf"^( *)%\(({'|'.join(_SHARED)})\)s$", doc, re.MULTILINE):
            text = _SHARED[key] or _describe_arguments(name, item)
            item.__doc__ = doc = doc.replace(f"{place}%({key})s", indent(text, place))
    return cls


def _describe_arguments(method: str, function: Any) -> str:
    """Return the section of a docstring that describes the parameters of a method."""
    names = list(signature(function).parameters)[1:]
    lines = ["Parameters", "----------"]
    for name in names:
        own = f"{method}.{name}"
        common = "blocks.X" if name == "X" and "memory_limit" in names else name
        lines.append(_DESCRIPTIONS.get(own) or _DESCRIPTIONS[common])
    return "\n".join(lines)
