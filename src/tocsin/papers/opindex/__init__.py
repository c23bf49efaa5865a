"""OpIndex (Zhang, Chan, Tan 2014), the k-index and the BE-tree. See docs/papers/opindex.md."""

from typing import Final

from tocsin.index.protocols import ALL_MATCHES, Registration
from tocsin.papers.opindex.be_tree import BETreeBuilder
from tocsin.papers.opindex.k_index import KIndexBuilder
from tocsin.papers.opindex.opindex import SEGMENTS, SIGNATURE_BITS, OpIndexBuilder, recent_opindex

OPINDEX: Final = Registration(
    "opindex",
    ALL_MATCHES,
    "comparisons with constants, IN, BETWEEN, LIKE, MATCHES and IS NOT NULL under AND, OR and NOT",
    "OpIndex (Zhang, Chan, Tan 2014, sections 4 to 6)",
    False,
    OpIndexBuilder,
    {"segments": SEGMENTS, "signature_bits": SIGNATURE_BITS},
    recent=recent_opindex,
)
K_INDEX: Final = Registration(
    "k_index",
    ALL_MATCHES,
    "attributes compared with constants; ranges of a declared domain, or with both ends",
    "k-index (Whang et al. 2009)",
    True,
    KIndexBuilder,
    {"lowest": 1, "highest": 0},
)
BE_TREE: Final = Registration(
    "be_tree",
    ALL_MATCHES,
    "attributes compared with constants",
    "BE-tree (Sadoghi and Jacobsen 2011)",
    True,
    BETreeBuilder,
    {"max_cap": 5},
)
