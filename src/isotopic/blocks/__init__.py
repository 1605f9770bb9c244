"""Data in row blocks, which does not fit into memory or is on other machines.

Expected counts add up over rows. So a pass over the data is a task for each block and a sum in a
fixed order, wherever the blocks are, and all solvers work as if the data were one matrix. Files are
read by :mod:`isotopic.io`.
"""

from isotopic.blocks.block import Block, BlockError, WidthError
from isotopic.blocks.counts import BlockedCounts, load_rows
from isotopic.blocks.opening import Blocks, is_blocks, open_blocks
from isotopic.blocks.problem import BlockedProblem, BlockedWeights
from isotopic.blocks.tasks import PlacedBlock

__all__ = [
    "Block",
    "BlockError",
    "BlockedCounts",
    "BlockedProblem",
    "BlockedWeights",
    "Blocks",
    "PlacedBlock",
    "WidthError",
    "is_blocks",
    "load_rows",
    "open_blocks",
]
