"""Plots of models, with matplotlib (``pip install 'isotopic[plot]'``).

Every function takes an ``ax`` to draw on, or creates one, and returns it. Text from data is drawn
literally: shortened if it is long, without markup, and with a replacement for characters that the
font does not have.
"""

from isotopic.plot.clustergram import consensus
from isotopic.plot.curves import convergence, selection, sparsity_path
from isotopic.plot.effects import effects, over_time
from isotopic.plot.exposures import exposures
from isotopic.plot.parts import image_parts
from isotopic.plot.spectra import spectra
from isotopic.plot.structure import structure
from isotopic.plot.style import palette
from isotopic.plot.terms import heatmap, top_terms
from isotopic.plot.topics import topic_map
from isotopic.plot.volcano import volcano

__all__ = [
    "consensus",
    "convergence",
    "effects",
    "exposures",
    "heatmap",
    "image_parts",
    "over_time",
    "palette",
    "selection",
    "sparsity_path",
    "spectra",
    "structure",
    "top_terms",
    "topic_map",
    "volcano",
]
