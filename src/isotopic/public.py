"""The public names of the package, and where they come from."""

from isotopic import datasets, evaluate, generative, plot
from isotopic.annotated import differential_anndata, fit_anndata
from isotopic.blocks import open_blocks
from isotopic.bootstrap import Intervals, bootstrap
from isotopic.consensus import Consensus, consensus
from isotopic.convert import convert
from isotopic.counts import CountMatrix
from isotopic.decompose import Decomposition, decompose
from isotopic.divergences import Beta, Divergence, KullbackLeibler, Majorized, NegativeBinomial
from isotopic.estimators import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    BetaNMF,
    Checkpoint,
    CountsWarning,
    GammaPoisson,
    NegativeBinomialNMF,
    PoissonFactorization,
    SparseNMF,
    SparsityWarning,
    TopicModel,
    load,
)
from isotopic.fitted import Fitted
from isotopic.fitted.inference import UnseenFeaturesWarning
from isotopic.group_weights import group_weights
from isotopic.interchange import from_sklearn, pyldavis_arguments, to_sklearn
from isotopic.io import read_counts
from isotopic.kernels import Counts, expected_counts
from isotopic.match import match
from isotopic.names import EmptySampleWarning, FeatureOrderWarning, SampleOrderWarning
from isotopic.objectives import (
    beta_divergence,
    gamma_poisson_bound,
    generalized_kl,
    lasso_kl,
    lda_bound,
    plsa_log_likelihood,
)
from isotopic.priors import (
    Dirichlet,
    Free,
    Gamma,
    Lasso,
    LogPenalty,
    Posterior,
    PowerPenalty,
    Prior,
    Simplex,
    UnitNorm,
)
from isotopic.refit import Refit, refit
from isotopic.registry import register
from isotopic.solvers import (
    Accelerated,
    Alternating,
    CoordinateDescent,
    ExtrapolatedDescent,
    IncrementalEM,
    JointEM,
    LeastSquares,
    OnlineEM,
    Solver,
)
from isotopic.verify import verify

__all__ = [
    "ARDNMF",
    "LDA",
    "NMF",
    "PLSA",
    "Accelerated",
    "Alternating",
    "Beta",
    "BetaNMF",
    "Checkpoint",
    "Consensus",
    "CoordinateDescent",
    "CountMatrix",
    "Counts",
    "CountsWarning",
    "Decomposition",
    "Dirichlet",
    "Divergence",
    "EmptySampleWarning",
    "ExtrapolatedDescent",
    "FeatureOrderWarning",
    "Fitted",
    "Free",
    "Gamma",
    "GammaPoisson",
    "IncrementalEM",
    "Intervals",
    "JointEM",
    "KullbackLeibler",
    "Lasso",
    "LeastSquares",
    "LogPenalty",
    "Majorized",
    "NegativeBinomial",
    "NegativeBinomialNMF",
    "OnlineEM",
    "PoissonFactorization",
    "Posterior",
    "PowerPenalty",
    "Prior",
    "Refit",
    "SampleOrderWarning",
    "Simplex",
    "Solver",
    "SparseNMF",
    "SparsityWarning",
    "TopicModel",
    "UnitNorm",
    "UnseenFeaturesWarning",
    "beta_divergence",
    "bootstrap",
    "consensus",
    "convert",
    "datasets",
    "decompose",
    "differential_anndata",
    "evaluate",
    "expected_counts",
    "fit_anndata",
    "from_sklearn",
    "gamma_poisson_bound",
    "generalized_kl",
    "generative",
    "group_weights",
    "lasso_kl",
    "lda_bound",
    "load",
    "match",
    "open_blocks",
    "plot",
    "plsa_log_likelihood",
    "pyldavis_arguments",
    "read_counts",
    "refit",
    "register",
    "to_sklearn",
    "verify",
]
