"""
Colours
=======

A topic has the same colour in all plots. Colour-blind readers can tell the first colours apart, too.
"""

import matplotlib.pyplot as plt

from isotopic import plot

fig, ax = plt.subplots(figsize=(8, 1))
for i, colour in enumerate(plot.palette(24)):
    ax.bar(i, 1, width=1, color=colour)
ax.set_axis_off()
