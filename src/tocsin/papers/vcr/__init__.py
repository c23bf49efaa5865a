"""VCR (Wu, Chen, Yu 2004) and its baseline, a packed R-tree. See docs/papers/vcr.md."""

from typing import Final

from tocsin.index.protocols import ALL_MATCHES, RECTANGLES, Registration
from tocsin.papers.vcr.r_tree import RTreeBuilder
from tocsin.papers.vcr.vcr import VCRBuilder

VCR: Final = Registration(
    "vcr",
    ALL_MATCHES,
    RECTANGLES,
    "VCR (Wu, Chen, Yu 2004, sections 2.1 to 2.3)",
    False,
    VCRBuilder,
    {"lx": 0, "ly": 0, "overlapped": 0, "hashed": -1, "places": 0},
)
R_TREE: Final = Registration(
    "r_tree",
    ALL_MATCHES,
    RECTANGLES,
    "R-tree (Guttman 1984), packed by sort-tile-recursive",
    True,
    RTreeBuilder,
    {"branching": 16},
)
