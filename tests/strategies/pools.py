"""Names of attributes, and values as the model has them, from small pools."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tocsin.model.values import UNTYPED, Box, Instant, Point, Scalar, Value

Kind: TypeAlias = Literal["number", "string", "boolean", "instant", "list", "place"]

ATTRIBUTES: Final[dict[Kind, tuple[str, ...]]] = {
    "number": ("n", "a.b"),
    "string": ("s", "odd name"),
    "boolean": ("AND", "flag"),
    "instant": ("naïve",),
    "list": ('with"quote', "items.a"),
    "place": ("place",),
}
"""The attributes, by the type that they usually have."""

LIST: Final = "parts"
"""The attribute of events with lists of objects: `with_lists`."""

NAMES: Final = tuple(name for names in ATTRIBUTES.values() for name in names)
SCALAR_KINDS: Final[tuple[Kind, ...]] = ("number", "string", "boolean", "instant")
ORDERED: Final[tuple[Kind, ...]] = ("number", "number", "string", "instant")

NUMBERS: Final = (1.0, 0.0, 2.0, -1.0, 3.0, 0.5)
EXTREMES: Final = (1e308, -1e308, 5e-324, -0.0, 0.1, 9007199254740992.0)
STRINGS: Final = ("a", "A", "ab", "é", "É", "e", "", "b%", "straße", "STRASSE", "😀")
ODD_STRINGS: Final = (
    "e\u0301",
    "a_b",
    "a\\b",
    "it's",
    "a\nb",
    '"',
    "｡",
    "😀a",
    "a\x00b",
    "1",
    "-1.0e0",
    " 1",
    "true",
    "İ",
    "ł",
    "Ǿ",
    "ＵＳＢ",
    "ｶﾞ",
)
TEXTS: Final = ("A b", "b, a-É ab!", "a b\na", "日本 e", "it’s a_b: 1,5", "a.b b a", "  ")
QUERIES: Final = ("a", "b a", "É e", "ab", '"a b"', '"b a" e', "日本", "a_b", "it's", "1", "1,5 a", '"a" "a é"')
"""What is asked of texts."""
ADDRESSES: Final = (
    "10.0.0.1",
    "10.0.0.255",
    "10.1.2.3",
    "::1",
    "0:0::1",
    "::ffff:10.0.0.1",
    "fe80::1%eth0",
    "010.0.0.1",
)
"""What says an address, and what nearly does."""
NETWORKS: Final = ("10.0.0.0/8", "10.0.0.0/31", "10.0.0.2/31", "10.0.0.1", "::/96", "0.0.0.0/0", "::/0", "fe80::/64")
VERSIONS: Final = (
    "1.2.3",
    "1.2.10",
    "1.2.3-rc.1",
    "1.2.3-rc.10",
    "1.2.3-rc.1.x",
    "1.2.3-1",
    "1.2.3+b",
    "1.2",
    "01.2.3",
)
"""What says a version, and what nearly does."""
PATTERN_PARTS: Final = ("a", "b", "e", "é", "A", "%", "%", "_", "\\%", "\\_", "\\\\", "ß", "😀")
PATTERNS: Final = ("", "%", "_", "_%", "a%", "%b%", "%e", "__", "%\\%", "STRASSE", "stra%", "%ß_", "A", "É")
REGEXES: Final = (
    "a",
    "^a",
    "b%$",
    "(?i)strasse",
    "é|É",
    "^$",
    "^.$",
    "[a-c]+",
    r"\pL",
    "x*",
    r"\ba\b",
    "(?s)a.b",
)
INSTANTS: Final = tuple(
    map(Instant.parse, ("1970-01-01", "2024-05-31", "2024-05-31T08:15:00Z", "1969-12-31T23:59:59.999999Z"))
)
PRESENT: Final = INSTANTS[2]
"""What `NOW()` is in tests."""
INSTANT_TEXTS: Final = (
    "2024-05-31",
    "2024-05-31T10:15:00+02:00",
    "2024-05-31 08:15",
    "2024-05-32",
    "2024-05-31T",
    "1970",
)
"""What says an instant, and what nearly does."""
ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati")
DURATIONS: Final = ("PT1S", "PT2M", "PT0.5S", "P1D", "P1W", "PT9H", "P19874DT8H15M")


def attribute_names() -> SearchStrategy[str]:
    """Names of attributes: plain, dotted, and ones that need quotes in CQL2."""
    return st.sampled_from(NAMES)


def often(usual: SearchStrategy, unusual: SearchStrategy, odds: int = 8) -> SearchStrategy:
    """`usual`, and once in `odds` times `unusual`."""
    return st.integers(1, odds).flatmap(lambda n: unusual if n == odds else usual)


def chosen(*weighted: tuple[int, SearchStrategy]) -> SearchStrategy:
    """One of the strategies, as often as its weight says."""
    numbers = [number for number, (weight, _) in enumerate(weighted) for _ in range(weight)]
    return st.sampled_from(numbers).flatmap(lambda number: weighted[number][1])


SCALARS: Final[dict[Kind, SearchStrategy]] = {
    "number": often(st.sampled_from(NUMBERS), st.sampled_from(EXTREMES)),
    "string": often(
        st.sampled_from(STRINGS),
        st.one_of(st.sampled_from(ODD_STRINGS + TEXTS), st.sampled_from(ADDRESSES + VERSIONS)),
        odds=3,
    ),
    "boolean": st.booleans(),
    "instant": st.sampled_from(INSTANTS),
}
KEYWORDS = often(st.sampled_from(STRINGS[:4]), SCALARS["string"], odds=6)
coordinates = st.sampled_from(NUMBERS)


def scalars() -> SearchStrategy[Scalar]:
    """Numbers, strings, booleans and instants, as the model has them."""
    return st.one_of(*SCALARS.values())


def points() -> SearchStrategy[Point]:
    return st.builds(Point, coordinates, coordinates)


def boxes() -> SearchStrategy[Box]:
    corners = st.tuples(coordinates, coordinates).map(sorted)
    return st.tuples(corners, corners).map(lambda xy: Box(xy[0][0], xy[1][0], xy[0][1], xy[1][1]))


def values() -> SearchStrategy[Value]:
    """Any value that a flattened event can have."""
    lists = st.lists(scalars(), max_size=4).map(tuple)
    return st.one_of(scalars(), lists, points(), boxes(), st.just(UNTYPED))
