"""Who takes part."""

from dataclasses import dataclass
from functools import cached_property

from benchmarks.processes import output_of, python_for


@dataclass(frozen=True)
class Contestant:
    """A way to fit, and where the function is that does it.

    Attributes
    ----------
    name : str
    measure : {"divergence", "perplexity"}
        What it is compared by.
    package : str
        As it is called on PyPI.
    function : str
        ``module:function`` in ``benchmarks.solution``.
    processes : bool
        Whether it uses processes instead of threads, which then get one thread each.
    """

    name: str
    measure: str
    package: str
    function: str
    processes: bool = False

    @cached_property
    def python(self) -> str:
        """The interpreter that has it."""
        return python_for(self.name.partition("-")[0])

    @cached_property
    def version(self) -> str | None:
        """Its version, or nothing where it is not installed."""
        code = f"from importlib.metadata import version; print(version({self.package!r}))"
        return output_of(self.python, code)


OWN = (
    Contestant("isotopic", "divergence", "isotopic", "with_isotopic:nmf"),
    Contestant("isotopic-joint", "divergence", "isotopic", "with_isotopic:nmf_joint"),
    Contestant("isotopic", "perplexity", "isotopic", "with_isotopic:lda"),
    Contestant("isotopic-variational", "perplexity", "isotopic", "with_isotopic:lda_variational"),
)
PEERS = (
    Contestant("sklearn-mu", "divergence", "scikit-learn", "with_sklearn:nmf"),
    Contestant("sklearn-minibatch", "divergence", "scikit-learn", "with_sklearn:minibatch_nmf"),
    Contestant("enstop", "divergence", "enstop", "with_enstop:plsa"),
    Contestant("salamander", "divergence", "salamander-learn", "with_salamander:nmf"),
    Contestant("topica-nmf", "divergence", "topica", "with_topica:nmf"),
    Contestant(
        "sklearn-lda-batch", "perplexity", "scikit-learn", "with_sklearn:lda_batch", processes=True
    ),
    Contestant(
        "sklearn-lda-online",
        "perplexity",
        "scikit-learn",
        "with_sklearn:lda_online",
        processes=True,
    ),
    Contestant("gensim", "perplexity", "gensim", "with_gensim:lda", processes=True),
    Contestant("tomotopy", "perplexity", "tomotopy", "with_tomotopy:lda"),
    Contestant("topica-lda", "perplexity", "topica", "with_topica:lda"),
    Contestant("topica-online", "perplexity", "topica", "with_topica:online_lda"),
)
