"""How to cite: the paper and the library, as in ``CITATION.cff``."""

from importlib.metadata import version

PAPER = """\
@misc{geiger-park-nmf-lda,
  title  = {On the Connection Between Non-negative Matrix Factorization and
            Latent Dirichlet Allocation},
  author = {Geiger, Benedikt and Park, Peter J.}
}"""

LIBRARY = f"""\
@software{{isotopic,
  title   = {{isotopic: the parts in count data}},
  author  = {{{{The isotopic developers}}}},
  version = {{{version("isotopic")}}}
}}"""
