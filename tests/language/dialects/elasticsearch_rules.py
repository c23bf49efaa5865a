"""Queries of Elasticsearch, and documents, at random over a small vocabulary: what a query asks for is often there."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

Query = dict[str, Any]
Draw = Callable[[Random], Any]

_KINDS: Final = [
    "open",
    "Open",
    "closed",
    "new york",
    "York",
    "",
    "a*b",
    "a\\b",
    "ab12",
    "ab",
    "a",
    "abb",
    "\u212aiosk",
    "kiosk",
    "é",
    "b",
    "/tmp/x.log",
    "5",
    "É",
]
_WORDS: Final = ["seafood", "paris", "Paris", "new", "york", "best", "cheap", "b42"]
_NUMBERS: Final = [-3, 0, 1, 2, 2.5, 5, 10, 10.0, 1e6]
_DAYS: Final = ["2024-05-30", "2024-05-31", "2024-06-01", "2024-06-03", "2024-02-29"]
_TIMES: Final = [
    "T00:00:00Z",
    "T23:59:59.999Z",
    "T23:30:00Z",
    "T12:00:00Z",
    "T00:30:00+01:00",
    "T12:00:00.001Z",
    "T00:00:00.001Z",
]
_LONGITUDES: Final = [-179.0, -10.0, 0.0, 13.0, 13.4, 14.0, 179.0]
_LATITUDES: Final = [-52.0, 0.0, 1.5, 52.0, 52.5, 53.0]


def kinds(random: Random) -> str:
    return random.choice(_KINDS)


def numbers(random: Random) -> float:
    return random.choice(_NUMBERS)


def flags(random: Random) -> bool:
    return random.random() < 0.5


def days(random: Random) -> str:
    return random.choice(_DAYS) + random.choice(["", *_TIMES])


def texts(random: Random) -> str:
    return random.choice([" ", ", ", " - ", "! "]).join(random.choices(_WORDS, k=random.randrange(6)))


def points(random: Random) -> tuple[float, float]:
    return random.choice(_LONGITUDES), random.choice(_LATITUDES)


def one(random: Random, *draws: Draw) -> Any:
    return random.choice(draws)(random)


# Documents


def _field(values: Draw, *, nests: bool = True) -> Draw:
    """Mostly a value; several, perhaps in lists within a list, none, a null, or another type than is asked for.

    Not strings in lists within a list: tocsin does not find the words of `match` there, as the page says. Not an object
    without values: tocsin says that it exists, and Elasticsearch does not.
    """
    inner = _inner(values) if nests else values

    def draw(random: Random) -> Any:
        chance = random.random()
        if chance < 0.6:
            return values(random)
        if chance < 0.8:
            return [one(random, values, values, inner, lambda _: None) for _ in range(random.randrange(4))]
        return random.choice([None, kinds(random), numbers(random), flags(random), days(random), {"x": "open"}])

    return draw


def _inner(values: Draw) -> Draw:
    """A list within a list, perhaps of nothing."""
    return lambda random: [one(random, values, lambda _: None) for _ in range(random.randrange(3))]


def _objects(inner: Draw) -> Draw:
    """An object that has a value, or a list of objects, or nothing."""

    def draw(random: Random) -> Any:
        return random.choice(
            [{**inner(random), "x": "open"}, [inner(random) for _ in range(random.randrange(4))], None]
        )

    return draw


def _object(chance: float, **draws: Draw) -> Draw:
    return lambda random: {name: draw(random) for name, draw in draws.items() if random.random() < chance}


def _places(random: Random) -> Any:
    at = list(points(random))
    return random.choice([at, {"type": "Point", "coordinates": at}, None])


_PARTS: Final = _objects(_object(0.8, kind=_field(kinds, nests=False), price=_field(numbers)))
_ITEMS: Final = _objects(
    _object(0.8, kind=_field(kinds, nests=False), price=_field(numbers), flag=_field(flags), parts=_PARTS)
)
document: Final = _object(
    0.7,
    _id=kinds,
    kind=_field(kinds, nests=False),
    price=_field(numbers),
    flag=_field(flags),
    day=_field(days),
    title=_field(texts, nests=False),
    place=_places,
    items=_ITEMS,
    user=_objects(_object(0.8, kind=_field(kinds, nests=False), age=_field(numbers))),
)


# Queries

_KEYWORDS: Final = ["kind", "kind", "user.kind", "items.kind", "items.parts.kind"]
_NUMERIC: Final = ["price", "price", "user.age", "items.price", "items.parts.price"]
_ANY: Final = [*_KEYWORDS, *_NUMERIC, "flag", "items.flag", "user", "items", "place", "title", "day", "absent"]
_COUNTS: Final = [0, 1, 2, 3, 5, -1, -3, "1", "-1", "75%", "50%", "-25%", "-60%", "100%", "2<75%", "1<-1 3<50%"]
_MATHS: Final = ["||+1d", "||-2h/d", "||/d", "||+30m", "||-1w", "||/w", "||/d-1h", "||/h", "||+1M", "||/M", "||-1d+2h"]
_WILDCARDS: Final = [
    "*",
    "?",
    "a*",
    "*b",
    "a?b",
    "a\\*b",
    "*York",
    "o*n",
    "/tmp/*.lo?",
    "",
    "??",
    "a\\\\b",
    "*\\?",
    "%",
    "_b",
    "É",
]
_WILDCARDS.extend(["\\a?", "OPEN", "*P*", "k*", "é"])
_REGEXPS: Final = [
    "[a-z]{2}[0-9]+",
    "open|closed",
    "o.*",
    "",
    "(new )?york",
    "a.b",
    "a\\*b",
    "[^a-z]*",
    "ab+?",
    "ab*",
    "(a|b)+",
]
_REGEXPS.extend(
    [
        "a\\\\b",
        "[-aOb]pen",
        "ab{1,3}12",
        "^open$",
        ".",
        "\\d",
        "[o]p(e)n",
        "b**",
        "()",
        "OPEN",
        "ab+?.*",
        "/tmp/x\\.log",
    ]
)
_PREFIXES: Final = ["", "o", "O", "new", "a*", "a\\", "É", "OP", "é", "A"]


def _about(random: Random, field: str, name: str, value: Any, **more: Any) -> Query:
    """A query on a field, in its short form or the long one, with some of its parameters."""
    given = {key: inner for key, inner in more.items() if random.random() < 0.4}
    return {field: {name: value, **given} if given or random.random() < 0.5 else value}


def _fields(random: Random, near: list[str], of: list[str] | None) -> str:
    """A field that may well have what is asked for; any other at times; below a path in a nested query."""
    if of is not None:
        return random.choice(of)
    return random.choice(near if random.random() < 0.85 else _ANY)


def _range(random: Random, field: str, bounds: Draw) -> Query:
    names = random.choice(
        [["gt"], ["gte"], ["lt"], ["lte"], ["gt", "lt"], ["gte", "lte"], ["gte", "lt"], ["gt", "lte"]]
    )
    return {"range": {field: {name: bounds(random) for name in names}}}


def _date_bound(random: Random) -> str:
    day = days(random)
    part = random.choice([10, 10, 13, 16, 40, 40, 7]) if len(day) > 10 else random.choice([10, 10, 7])
    return day[:part] + (random.choice(_MATHS) if random.random() < 0.4 else "")


def _date_range(random: Random) -> Query:
    query = _range(random, random.choice(["day", "day", "day", "kind"]), _date_bound)
    if random.random() < 0.15:
        (body,) = query["range"].values()
        body["time_zone"] = random.choice(["+01:00", "-05:30", "UTC", "Europe/Berlin"])
    return query


def term_level(random: Random, of: list[str] | None = None) -> Query:
    fold = flags(random)
    keyword, number, any_ = _fields(random, _KEYWORDS, of), _fields(random, _NUMERIC, of), _fields(random, _ANY, of)
    values = [one(random, kinds, numbers, flags) for _ in range(random.randrange(4))]
    choices: list[Callable[[], Query]] = [
        lambda: {"term": _about(random, keyword, "value", kinds(random), case_insensitive=fold)},
        lambda: {"term": _about(random, number, "value", numbers(random), boost=2)},
        lambda: {"term": _about(random, any_, "value", one(random, flags, kinds, numbers, days))},
        lambda: {"terms": {any_: values}},
        lambda: _range(random, number, numbers),
        lambda: _range(random, keyword, kinds),
        lambda: {"prefix": _about(random, keyword, "value", random.choice(_PREFIXES), case_insensitive=fold)},
        lambda: {"wildcard": _about(random, keyword, "value", random.choice(_WILDCARDS), case_insensitive=fold)},
        lambda: {"regexp": _about(random, keyword, "value", random.choice(_REGEXPS), case_insensitive=fold)},
        lambda: {"exists": {"field": any_}},
    ]
    return random.choice(choices)()


def _text_level(random: Random) -> Query:
    field = random.choice(["title", "title", "title", "kind", "items.kind", "absent"])
    more = {
        "operator": random.choice(["and", "or", "AND"]),
        "minimum_should_match": random.choice(_COUNTS),
        "zero_terms_query": random.choice(["none", "all"]),
    }
    fields = random.choices(["title", "kind", "title^2"], k=random.randrange(1, 3))
    choices: list[Callable[[], Query]] = [
        lambda: {"match": _about(random, field, "query", texts(random), **more)},
        lambda: {"match": _about(random, field, "query", texts(random), **more)},
        lambda: {"match": _about(random, random.choice(["price", "flag"]), "query", one(random, numbers, flags))},
        lambda: {"match_phrase": _about(random, field, "query", texts(random))},
        lambda: {"multi_match": {"query": texts(random), "fields": fields}},
        lambda: {
            "multi_match": {"query": texts(random), "fields": fields, "type": random.choice(["most_fields", "phrase"])}
        },
    ]
    return random.choice(choices)()


_POLYGONS: Final[list[Any]] = [
    [[-11.1, -1.1], [15.2, -1.3], [14.7, 60.1], [-11.3, 59.9]],
    [{"lat": 51.1, "lon": 12.9}, {"lat": 52.6, "lon": 12.7}, {"lat": 52.3, "lon": 14.1}],
]


def _written(random: Random, at: tuple[float, float]) -> Any:
    return random.choice([{"lat": at[1], "lon": at[0]}, list(at), f"{at[1]},{at[0]}"])


def _geo(random: Random) -> Query:
    """Borders lie between the places of documents: Lucene rounds places to 32 bits."""
    (west, south), (east, north) = points(random), points(random)
    south, north = sorted((south, north))
    west, south, east, north = west - 0.3, south - 0.2, east + 0.3, north + 0.2
    corners = {"top_left": _written(random, (west, north)), "bottom_right": _written(random, (east, south))}
    sides = {"top": north, "left": west, "bottom": south, "right": east}
    radius = random.choice(["2km", "30km", "30 mi", "200km", 5000, "2000km"])
    choices: list[Query] = [
        {"geo_distance": {"distance": radius, "place": _written(random, points(random))}},
        {"geo_bounding_box": {"place": random.choice([corners, sides])}},
        {"geo_polygon": {"place": {"points": random.choice(_POLYGONS)}}},
    ]
    return random.choice(choices)


def _nested(random: Random) -> Query:
    path, of = "items", ["items.kind", "items.price", "items.flag"]
    if random.random() < 0.3:
        path, of = "items.parts", ["items.parts.kind", "items.parts.price"]

    def inner(random: Random) -> Query:
        return term_level(random, of)

    query = _compound(random, inner) if random.random() < 0.5 else inner(random)
    nested = {"nested": {"path": path, "query": query}}
    if path == "items.parts" and random.random() < 0.5:
        return {"nested": {"path": "items", "query": nested}}
    return nested


def leaf(random: Random) -> Query:
    draws: list[Draw] = [
        *[term_level] * 5,
        *[_text_level] * 3,
        _date_range,
        _date_range,
        _geo,
        _nested,
        lambda random: {"ids": {"values": [kinds(random) for _ in range(random.randrange(4))]}},
        lambda random: random.choice([{"match_all": {}}, {"match_none": {}}, {"match_all": {"boost": 2}}]),
    ]
    return one(random, *draws)


def _compound(random: Random, inner: Draw) -> Query:
    def several(most: int) -> Any:
        return [inner(random) for _ in range(random.randrange(most + 1))]

    clauses = [name for name in ("must", "filter", "should", "must_not") if random.random() < 0.5]
    whole = {name: several(2) if random.random() < 0.8 else inner(random) for name in clauses}
    if "should" in whole and random.random() < 0.5:
        whole["minimum_should_match"] = random.choice(_COUNTS)
    choices: list[Query] = [
        {"bool": whole},
        {"bool": {"should": several(4), "minimum_should_match": random.choice(_COUNTS)}},
        {"bool": {"must_not": several(2)}},
        {"constant_score": {"filter": inner(random)}},
        {"dis_max": {"queries": [inner(random) for _ in range(random.randrange(1, 4))]}},
        {"boosting": {"positive": inner(random), "negative": inner(random), "negative_boost": 0.5}},
    ]
    return random.choice([choices[0], choices[0], *choices])


def query(random: Random) -> Query:
    """A query with up to two levels of queries above its leaves."""
    chance = random.random()
    if chance < 0.5:
        return leaf(random)
    if chance < 0.8:
        return _compound(random, leaf)
    return _compound(random, lambda random: _compound(random, leaf) if random.random() < 0.5 else leaf(random))
