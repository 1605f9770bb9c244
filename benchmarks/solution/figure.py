"""Curves: how far everybody is from the best that anybody found, against time."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.table import Row

# Okabe and Ito's colours, which colour-blind readers can tell apart; the markers help too.
COLOURS = ("#000000", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933")
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")
MOST_COLUMNS = 3


def draw(runs: dict, folder: Path) -> Iterator[Row]:
    """Draw a figure for each measure and number of threads, with a panel for each problem."""
    try:
        import matplotlib  # noqa: PLC0415 - an extra
    except ImportError:
        yield Row("figures", detail="matplotlib is not installed; `make bench` installs it")
        return
    matplotlib.use("Agg")
    for measure, threads in sorted({(heat.measure, heat.threads) for heat in runs}):
        panels = {
            heat: repetitions
            for heat, repetitions in runs.items()
            if (heat.measure, heat.threads) == (measure, threads)
        }
        _figure(panels, measure, threads, folder / f"solution_{measure}_{threads}.png")


def _figure(panels: dict, measure: str, threads: int, file: Path) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415 - an extra

    columns = min(MOST_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(4.2 * columns + 1.2, 3.4 * rows + 1.2),
        squeeze=False,
        layout="constrained",
    )
    for axis, (heat, repetitions) in zip(axes.flat, panels.items(), strict=False):
        _panel(axis, heat, repetitions)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    handles = {}
    for axis in axes.flat:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    legend = {"loc": "outside lower center", "ncols": columns + 1}
    figure.legend(handles.values(), handles.keys(), **legend)
    figure.supylabel(f"{measure} minus the best")
    figure.suptitle(f"{threads} thread{'s' if threads > 1 else ''}")
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _panel(axis, heat, repetitions: list) -> None:
    """Draw every repetition; what is infinite or the best itself has no place on the axis."""
    curves = [(i, one) for runs in repetitions for i, one in enumerate(runs)]
    best = min((value for _, one in curves for value in one.objectives), default=np.inf)
    for i, one in curves:
        shown = np.isfinite(one.objectives) & (one.objectives > best)
        axis.plot(
            one.seconds[shown],
            one.objectives[shown] - best,
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            markevery=max(1, shown.sum() // 6),
            markersize=4,
            linewidth=2 if one.contestant.package == "isotopic" else 1.2,
            label=one.contestant.name,
        )
    axis.set(xscale="log", yscale="log", title=f"{heat.dataset}, {heat.components} components")
    axis.set_xlabel("seconds")
    axis.grid(alpha=0.3)
