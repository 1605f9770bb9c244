"""Make the colours of ``isotopic.plot``: many that colour-blind readers can tell apart too.

Seven colours of Okabe and Ito come first. Each further one is the colour of a grid that is
farthest from all before it, in OKLab, for the eye that sees the smallest difference: normal, or
without one kind of cones (Machado et al. 2009). Prints the list that ``plot/style.py`` holds.
"""

import numpy as np

FIRST = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]
HOW_MANY = 24
# Most readers have normal eyes, which see more differences: they shall have larger ones.
NEEDED = np.array([2.0, 1.0, 1.0, 1.0])

# How linear RGB looks without the long, middle or short cones.
EYES = np.array(
    [
        np.eye(3),
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ]
)
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def rgb(colour: str) -> np.ndarray:
    """Read ``#rrggbb``."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def seen(colours: np.ndarray) -> np.ndarray:
    """Give OKLab coordinates (eyes x colours x 3) of RGB colours."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    looks = np.clip(linear @ EYES.transpose(0, 2, 1), 0, 1)
    return np.cbrt(looks @ _CONES.T) @ _LAB.T


def main() -> None:
    """Print the palette."""
    steps = np.linspace(0, 1, 18)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    places = seen(grid)
    lightness = places[0, :, 0]
    chroma = np.hypot(places[0, :, 1], places[0, :, 2])
    # Neither text nor paper, and nothing that glows.
    good = (lightness > 0.38) & (lightness < 0.88) & (chroma < 0.2)
    grid, places = grid[good], places[:, good]
    chosen = [rgb(colour) for colour in FIRST]
    while len(chosen) < HOW_MANY:
        taken = seen(np.array(chosen))
        apart = np.linalg.norm(places[:, :, None] - taken[:, None], axis=-1).min(axis=2)
        chosen.append(grid[(apart / NEEDED[:, None]).min(axis=0).argmax()])
    for colour in chosen:
        print("#" + "".join(f"{round(255 * part):02X}" for part in colour))


if __name__ == "__main__":
    main()
