"""Mutation types in the order and colours of COSMIC: SBS96, SBS192, SBS288, DBS78 and ID83."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# The six classes of substitutions, and the strands that a gene's substitution may lie on.
SBS_COLOURS = {
    "C>A": "#03BCEE",
    "C>G": "#010101",
    "C>T": "#E32926",
    "T>A": "#CAC9C9",
    "T>C": "#A1CE63",
    "T>G": "#EBC6C4",
}
STRANDS = {
    "T": ("transcribed", "#014666"),
    "U": ("untranscribed", "#E42926"),
    "B": ("bidirectional", "#36A12E"),
    "N": ("not transcribed", "#9A9A9A"),
}
DBS_COLOURS = {
    "AC>NN": "#03BDEF",
    "AT>NN": "#0366CC",
    "CC>NN": "#A2CF63",
    "CG>NN": "#016601",
    "CT>NN": "#FF9999",
    "GC>NN": "#E42926",
    "TA>NN": "#FFB266",
    "TC>NN": "#FF8001",
    "TG>NN": "#CC99FF",
    "TT>NN": "#4C0199",
}
# Of indels: size, kind and context; what is written on the class; and its colour.
ID_CLASSES = {
    "1:Del:C": ("C", "#FDBE6F"),
    "1:Del:T": ("T", "#FF8002"),
    "1:Ins:C": ("C", "#B0DD8B"),
    "1:Ins:T": ("T", "#36A12E"),
    "2:Del:R": ("2", "#FDCAB5"),
    "3:Del:R": ("3", "#FC8A6A"),
    "4:Del:R": ("4", "#F14432"),
    "5:Del:R": ("5+", "#BC191A"),
    "2:Ins:R": ("2", "#D0E1F2"),
    "3:Ins:R": ("3", "#94C4DF"),
    "4:Ins:R": ("4", "#4A98C9"),
    "5:Ins:R": ("5+", "#1764AB"),
    "2:Del:M": ("2", "#E2E2EF"),
    "3:Del:M": ("3", "#B6B6D8"),
    "4:Del:M": ("4", "#8683BD"),
    "5:Del:M": ("5+", "#62409B"),
}
ID_GROUPS = {
    ("1", "Del"): "deletion of 1 bp",
    ("1", "Ins"): "insertion of 1 bp",
    ("R", "Del"): "longer deletion at repeats",
    ("R", "Ins"): "longer insertion at repeats",
    ("M", "Del"): "microhomology",
}
_SBS = re.compile(r"(?:([TUBN]):)?([ACGT])\[([CT]>[ACGT])\]([ACGT])")
_DBS = re.compile(r"([ACGT]{2})>([ACGT]{2})")
_ID = re.compile(r"([1-5]:(?:Del|Ins):[CTRM]):(\d)\+?")


@dataclass(frozen=True)
class Bar:
    """One mutation type: which feature it is, and how it is drawn.

    Attributes
    ----------
    feature : int
    label : str
        What is written below the bar.
    colour : str
    kind : str
        Its class, which has a strip above the bars; empty if there are no classes.
    group : str
        The name of several classes; may be empty.
    title : str
        What is written on the strip.
    strip : str
        The colour of the strip.
    """

    feature: int
    label: str
    colour: str
    kind: str = ""
    group: str = ""
    title: str = ""
    strip: str = ""


def arrange(types: Sequence[str], plain_colour: str) -> list[Bar]:
    """Return the bars of mutation types in their usual order; of other features, in their own."""
    for read in (_substitutions, _doublets, _indels):
        bars = read(types)
        if bars is not None:
            return bars
    return [Bar(i, name, plain_colour) for i, name in enumerate(types)]


def strands_of(types: Sequence[str]) -> dict[str, str]:
    """Return the strands of substitutions and their colours; nothing without strands."""
    found = {name[0] for name in types if _SBS.fullmatch(name) and name[1] == ":"}
    return {name: colour for key, (name, colour) in STRANDS.items() if key in found}


def _substitutions(types: Sequence[str]) -> list[Bar] | None:
    found = [_SBS.fullmatch(name) for name in types]
    keys = [(part[3], part[2], part[4], part[1] or "") for part in found if part]
    if len(keys) < len(types):
        return None
    rank = ["", *STRANDS]
    order = sorted(range(len(keys)), key=lambda i: (*keys[i][:3], rank.index(keys[i][3])))
    bars = []
    for i in order:
        kind, before, after, strand = keys[i]
        own = SBS_COLOURS[kind]
        colour = STRANDS[strand][1] if strand else own
        bars.append(Bar(i, f"{before}{kind[0]}{after}", colour, kind, "", kind, own))
    return bars


def _doublets(types: Sequence[str]) -> list[Bar] | None:
    found = [_DBS.fullmatch(name) for name in types]
    kinds = [f"{part[1]}>NN" for part in found if part]
    if len(kinds) < len(types) or not set(kinds) <= set(DBS_COLOURS):
        return None
    order = sorted(range(len(types)), key=lambda i: types[i])
    return [
        Bar(i, types[i][3:], DBS_COLOURS[k], k, "", k, DBS_COLOURS[k])
        for i, k in ((i, kinds[i]) for i in order)
    ]


def _indels(types: Sequence[str]) -> list[Bar] | None:
    found = [_ID.fullmatch(name) for name in types]
    parts = [(part[1], int(part[2])) for part in found if part]
    if len(parts) < len(types) or not {kind for kind, _ in parts} <= set(ID_CLASSES):
        return None
    rank = list(ID_CLASSES)
    order = sorted(range(len(parts)), key=lambda i: (rank.index(parts[i][0]), parts[i][1]))
    bars = []
    for i in order:
        kind, length = parts[i]
        size, change, context = kind.split(":")
        group = ID_GROUPS["1" if size == "1" else context, change]
        title, colour = ID_CLASSES[kind]
        # A deletion is counted from the repeat that it removes one of.
        shown = length + (change == "Del" and context != "M")
        most = 6 if change == "Del" and context != "M" else 5
        label = f"{shown}+" if shown == most else str(shown)
        bars.append(Bar(i, label, colour, kind, group, title, colour))
    return bars
