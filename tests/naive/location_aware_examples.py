"""The twelve subscriptions and the messages of Yu, Li et al. 2015, Figures 1, 2, 4 and 5, and what is said of them.

Keywords are those that Examples 1 to 8 tell. The figures' coordinates are not in the text: regions are chosen here so
that each statement about space holds, and so that space decides nothing that the paper lets a token decide. Nodes of
one parent are disjoint, as footnote 1 has it. The test beside this holds all of it against plain set arithmetic.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

Bounds: TypeAlias = tuple[float, float, float, float]
Tree: TypeAlias = Literal["all", "df", "idf"]
"""Which tokens of a subscription its nodes have: all (R^t-tree), or one that represents it (R^t+-tree)."""
Filter: TypeAlias = Literal["MBR filter", "token filter"]


class Subscription(NamedTuple):
    keywords: frozenset[str]
    region: Bounds

    def where(self) -> str:
        """The same as a user writes it."""
        words = ", ".join(f"'{word}'" for word in sorted(self.keywords))
        return f"S_INTERSECTS(location, BBOX{self.region}) AND A_CONTAINS(words, ({words}))"


class Statement(NamedTuple):
    """What a filter does with a node, `by` None where it keeps it; or is said of no filter alone."""

    message: str
    node: str
    tree: Tree
    by: Filter | None
    where: str


class Count(NamedTuple):
    """In how many lists of the first levels, of tokens that the message has, a subscription is; and what is said."""

    message: str
    subscription: str
    level: int
    lists: int
    paper: int
    where: str


def _of(words: str, *region: float) -> Subscription:
    left, lower, right, upper = map(float, region)
    return Subscription(frozenset(words.split()), (left, lower, right, upper))


SUBSCRIPTIONS: Final = {
    "s1": _of("32GB AT&T iphone4s", 5, 5, 15, 15),
    "s2": _of("verizon iphone4s", 10, 20, 25, 30),
    "s3": _of("64GB ipad2", 25, 8, 35, 20),
    "s4": _of("verizon iphone4s", 20, 55, 45, 70),
    "s5": _of("verizon iphone4s", 10, 75, 25, 90),
    "s6": _of("verizon iphone4s", 30, 60, 50, 65),
    "s7": _of("AT&T ipad2", 82, 10, 95, 25),
    "s8": _of("AT&T ipad2 iphone4s", 60, 35, 70, 50),
    "s9": _of("32GB ipad2 iphone4s", 75, 30, 85, 45),
    "s10": _of("32GB AT&T iphone4s", 60, 60, 75, 75),
    "s11": _of("AT&T ipad2 iphone4s", 65, 65, 90, 80),
    "s12": _of("64GB ipad2", 68, 62, 85, 90),
}
FREQUENCIES: Final = {"iphone4s": 9, "ipad2": 6, "AT&T": 5, "verizon": 4, "32GB": 3, "64GB": 2}
"""How many subscriptions have each token (caption of Figure 4)."""

POINT: Final = [70.0, 70.0]  # P_m
REGION: Final = [40.0, 40.0, 80.0, 80.0]  # R_m
MESSAGES: Final[dict[str, dict[str, Any]]] = {
    "m_p": {"location": POINT, "words": ["iphone4s", "ipad2", "AT&T", "64GB"]},
    "m_r": {"location": REGION, "words": ["iphone4s", "ipad2", "AT&T", "64GB"]},
    "example 3": {"location": REGION, "words": ["ipad2", "AT&T", "32GB", "64GB"]},
    "example 4": {"location": REGION, "words": ["AT&T", "32GB", "64GB"]},
    "case 1": {"location": REGION, "words": ["ipad2", "64GB"]},
    "case 2.2": {"location": REGION, "words": ["ipad2", "AT&T", "64GB"]},
}
"""Example 7 has m_r once more, example 5 the message of example 4."""
ANSWERS: Final = {
    "m_p": ["s11", "s12"],
    "m_r": ["s8", "s11", "s12"],
    "example 3": ["s12"],
    "example 4": [],
    "case 1": ["s12"],
    "case 2.2": ["s12"],
}
"""Of the last three the paper says only who is no answer."""

LEAVES: Final = {
    "n4": ["s1", "s2", "s3"],
    "n5": ["s4", "s5", "s6"],
    "n6": ["s7", "s8", "s9"],
    "n7": ["s10", "s11", "s12"],
}
CHILDREN: Final = {"n1": ["n2", "n3"], "n2": ["n4", "n5"], "n3": ["n6", "n7"]}
REGIONS: Final[dict[str, Bounds]] = {
    "n4": (5.0, 5.0, 35.0, 30.0),  # R_13
    "n5": (10.0, 55.0, 50.0, 90.0),  # R_14
    "n6": (60.0, 10.0, 95.0, 50.0),  # R_15
    "n7": (60.0, 60.0, 90.0, 90.0),  # R_16
    "n2": (5.0, 5.0, 50.0, 90.0),
    "n3": (60.0, 10.0, 95.0, 90.0),
}
MISSED_BY_REGION: Final = ["n4", "s7"]
"""What R_m misses of what the examples name; it meets all other nodes, and s4, s6, s8 to s12."""

REPRESENTATIVES: Final[dict[Tree, dict[str, str]]] = {
    "df": dict.fromkeys(SUBSCRIPTIONS, "iphone4s") | dict.fromkeys(("s3", "s7", "s12"), "ipad2"),
    "idf": {
        **dict.fromkeys(("s1", "s9", "s10"), "32GB"),
        **dict.fromkeys(("s2", "s4", "s5", "s6"), "verizon"),
        **dict.fromkeys(("s3", "s12"), "64GB"),
        **dict.fromkeys(("s7", "s8", "s11"), "AT&T"),
    },
}
_PHONES: Final = {"iphone4s", "ipad2"}
TOKENS: Final[dict[Tree, dict[str, set[str]]]] = {
    "all": {
        "n2": {"iphone4s", "ipad2", "AT&T", "verizon", "32GB", "64GB"},
        "n3": {"iphone4s", "ipad2", "AT&T", "32GB", "64GB"},
        "n4": {"iphone4s", "ipad2", "AT&T", "verizon", "32GB", "64GB"},
        "n5": {"iphone4s", "verizon"},
        "n6": {"iphone4s", "ipad2", "AT&T", "32GB"},
        "n7": {"iphone4s", "ipad2", "AT&T", "32GB", "64GB"},
    },
    "df": {"n2": _PHONES, "n3": _PHONES, "n4": _PHONES, "n5": {"iphone4s"}, "n6": _PHONES, "n7": _PHONES},
    "idf": {
        "n2": {"32GB", "verizon", "64GB"},
        "n3": {"32GB", "AT&T", "64GB"},
        "n4": {"32GB", "verizon", "64GB"},
        "n5": {"verizon"},
        "n6": {"32GB", "AT&T"},
        "n7": {"32GB", "AT&T", "64GB"},
    },
}
"""Token sets of nodes: Examples 2, 4, 6 and 7; those that they leave out follow from the figures' rules."""
COUNTS_OF_TOKENS: Final[dict[Tree, int]] = {"all": 57, "df": 23, "idf": 27}
"""All entries together, those of subscriptions included. Example 6 says 23; its other number is lost in the text."""

_MBR: Final = "MBR filter"
_TOKEN: Final = "token filter"
STATEMENTS: Final = [
    Statement("example 3", "n2", "all", None, "Example 3"),
    Statement("example 3", "n4", "all", _MBR, "Example 3"),
    Statement("example 3", "n5", "all", _TOKEN, "Example 3"),
    Statement("example 3", "n3", "all", None, "Example 3, untold"),
    Statement("example 3", "n6", "all", None, "Example 3"),
    Statement("example 3", "n7", "all", None, "Example 3"),
    Statement("example 4", "n2", "all", None, "Example 4"),
    Statement("example 4", "n2", "df", _TOKEN, "Example 4"),
    Statement("example 4", "n3", "all", None, "Example 5"),
    Statement("example 4", "n3", "df", _TOKEN, "Example 5"),
    Statement("m_r", "n5", "df", None, "Example 7"),
    Statement("m_r", "n5", "idf", _TOKEN, "Example 7"),
]

ORDERED: Final = {
    "s1": ["32GB", "AT&T", "iphone4s"],
    "s2": ["verizon", "iphone4s"],
    "s3": ["64GB", "ipad2"],
    "s4": ["verizon", "iphone4s"],
    "s5": ["verizon", "iphone4s"],
    "s6": ["verizon", "iphone4s"],
    "s7": ["AT&T", "ipad2"],
    "s8": ["AT&T", "ipad2", "iphone4s"],
    "s9": ["32GB", "ipad2", "iphone4s"],
    "s10": ["32GB", "AT&T", "iphone4s"],
    "s11": ["AT&T", "ipad2", "iphone4s"],
    "s12": ["64GB", "ipad2"],
}
"""The rarest token first: that at place i - 1 is kept at level i (Example 8, Figure 5)."""
LISTS: Final[dict[tuple[int, str], dict[str, list[str]]]] = {
    (1, "n2"): {"32GB": ["s1"], "verizon": ["s2", "s4", "s5", "s6"], "64GB": ["s3"]},
    (1, "n3"): {"AT&T": ["s7", "s8", "s11"], "32GB": ["s9", "s10"], "64GB": ["s12"]},
    (2, "n4"): {"AT&T": ["s1"], "iphone4s": ["s2"], "ipad2": ["s3"]},
    (2, "n5"): {"iphone4s": ["s4", "s5", "s6"]},
    (2, "n6"): {"ipad2": ["s7", "s8", "s9"]},
    (2, "n7"): {"AT&T": ["s10"], "ipad2": ["s11", "s12"]},
    (3, "n4"): {"iphone4s": ["s1"]},
    (3, "n6"): {"iphone4s": ["s8", "s9"]},
    (3, "n7"): {"iphone4s": ["s10", "s11"]},
}
"""Inverted lists of an entry's subscriptions by level, as Example 8 names them: the first level's are n2 and n3.

The property below it names the same lists by the node that holds the entry: s8 is "in n1, n3 and n6". The third level
is a leaf's own, whose entries are subscriptions.
"""
COUNTS: Final = [
    Count("case 1", "s7", 2, 1, 1, "section 5.2, case 1"),
    Count("m_r", "s8", 3, 3, 3, "section 5.2, case 2.1"),
    Count("case 2.2", "s8", 3, 2, 1, "section 5.2, case 2.2"),
    Count("case 2.2", "s7", 3, 2, 1, "section 5.2, case 2.2"),
]
"""The last two the paper counts wrongly: the message has AT&T and ipad2. It is space that s7 lacks."""
