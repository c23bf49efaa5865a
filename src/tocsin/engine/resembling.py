"""Explanations for `Similar`: how similar an event and a subscription are, computed from the source tree.

They read like those of a match. One condition says that the sum of both shares reaches the threshold; the
subscription's other conditions follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from tocsin.language import Explanation, Finding, explain, name_text, to_text
from tocsin.language.explain import HEADLINES, value_shown
from tocsin.language.keywords import asked_by, has_phrase, is_text, lines_of, settings_of, text_in
from tocsin.language.operators.spatial import without_disjoint
from tocsin.model.elements import Values
from tocsin.model.expression import And, Array, Attribute, Call, Constant, Expression, Not, Or
from tocsin.model.ranking import Similar
from tocsin.model.values import Bounds, Box, Point, Value, box_of, sides_of


class _Region(NamedTuple):
    """A box that an attribute must intersect."""

    node: Expression
    place: str
    bounds: Bounds


class _Keywords(NamedTuple):
    """Strings that a list must contain, or words of a text."""

    nodes: tuple[Expression, ...]
    name: str
    asked: tuple[str, ...]  # distinct, by code point
    lines: list[list[str]] | None  # the event's words; None if it has neither a list nor a text


class _Share(NamedTuple):
    """A share, and its explanation."""

    value: float
    came: str


def explain_similar(tree: Expression, values: Values, ranking: Similar) -> Explanation:
    """Explain whether a flattened event is similar enough to a subscription; `score` is the sum, or None."""
    conjuncts = list(_conjuncts(tree))
    regions = [found for one in conjuncts if (found := _region(one))]
    lists = _lists(conjuncts, values)
    if len(regions) != 1 or len(lists) != 1:
        return _of_another_shape(len(regions), len(lists))
    region, words = regions[0], lists[0]
    score, told, lines = _sum(region, words, values, ranking)
    phrases = list(_phrases(words.nodes, values))
    asked = {id(region.node), *map(id, words.nodes)}
    others = [explain(one, values) for one in conjuncts if id(one) not in asked]
    findings = [told, *phrases, *(one for other in others for one in (*other.held, *other.failed))]
    lines += [f"    {one}" for one in phrases]
    lines += ["  " + line for other in others for line in str(other).split("\n")[1:]]
    truth = _all_of([told.truth, *(one.truth for one in phrases), *(other.truth for other in others)])
    held, failed = ([one for one in findings if (one.truth is True) is holds] for holds in (True, False))
    return Explanation(truth, tuple(held), tuple(failed), (HEADLINES[truth], "  all of:", *lines), score=score)


def _of_another_shape(regions: int, lists: int) -> Explanation:
    told = f"its outermost AND has {_times(regions)} a box for an attribute, and {_times(lists)} strings for a list"
    line = f"  does not answer Similar: {told}; it needs each exactly once"
    return Explanation(False, (), (), (HEADLINES[False], line))


def _times(count: int) -> str:
    return {0: "not once", 1: "once"}.get(count, f"{count} times")


def _all_of(truths: Iterable[bool | None]) -> bool | None:
    known = list(truths)
    return False if False in known else None if None in known else True


# ---- conditions of the subscription


def _conjuncts(tree: Expression, negated: bool = False) -> Iterator[Expression]:
    """The conditions of the outermost AND after NOT is moved inwards; the tree itself if it is not an AND."""
    left = [(tree, negated)]
    while left:
        node, negated = left.pop()
        if isinstance(node, Call) and node.name == "S_DISJOINT":
            node = without_disjoint(node)
        if isinstance(node, Not):
            left.append((node.operand, not negated))
        elif isinstance(node, Or if negated else And):
            left += [(operand, negated) for operand in reversed(node.operands)]
        else:
            yield Not(node) if negated else node


def _region(node: Expression) -> _Region | None:
    if isinstance(node, Or) and len(node.operands) == 2:
        one, other = map(_region, node.operands)
        return _of_sides(node, one, other) or _of_sides(node, other, one)
    if not isinstance(node, Call) or node.name != "S_INTERSECTS":
        return None
    place, region = sorted(node.arguments, key=lambda one: not isinstance(one, Attribute))
    if isinstance(place, Attribute) and isinstance(region, Constant) and isinstance(region.value, Box | Point):
        return _Region(node, place.name, region.value.bounds())
    return None


def _of_sides(node: Expression, east: _Region | None, west: _Region | None) -> _Region | None:
    """The box across the antimeridian that has these two sides, as in its index."""
    if east is None or west is None or east.place != west.place:
        return None
    whole = (*east.bounds[:2], *west.bounds[2:])
    return _Region(node, east.place, whole) if sides_of(whole) == (east.bounds, west.bounds) else None


def _lists(conjuncts: Sequence[Expression], values: Values) -> list[_Keywords]:
    """The conditions on lists, one each, and those on texts, grouped if they split texts into words in the same way."""
    found, texts = [], dict[tuple[str, str], list[Call]]()
    for node in conjuncts:
        if not isinstance(node, Call):
            continue
        if is_text(node):
            texts.setdefault((cast(Attribute, node.arguments[0]).name, str(settings_of(node))), []).append(node)
        elif (said := _contained(node)) is not None:
            name, asked = said
            value = cast(Value | None, values.get(name))
            words = [one for one in value if isinstance(one, str)] if isinstance(value, tuple) else None
            found.append(_Keywords((node,), name, asked, None if words is None else [words]))
    for (name, _), nodes in texts.items():
        asked = tuple(sorted({word for node in nodes for word in asked_by(node).words}))
        lines = lines_of(text_in(nodes[0], values), settings_of(nodes[0]))
        found.append(_Keywords(tuple(nodes), name, asked, lines))
    return found


def _contained(node: Call) -> tuple[str, tuple[str, ...]] | None:
    """The attribute and the strings that it must contain; None for any other condition."""
    if node.name not in ("A_CONTAINS", "A_CONTAINEDBY"):
        return None
    words, asked = node.arguments if node.name == "A_CONTAINS" else reversed(node.arguments)
    if not isinstance(words, Attribute) or not isinstance(asked, Array) or not asked.items:
        return None
    strings = {one.value for one in asked.items if isinstance(one, Constant) and isinstance(one.value, str)}
    is_whole = all(isinstance(one, Constant) and isinstance(one.value, str) for one in asked.items)
    return (words.name, tuple(sorted(strings))) if is_whole else None


# ---- shares and score


def _sum(region: _Region, words: _Keywords, values: Values, ranking: Similar) -> tuple[float, Finding, list[str]]:
    """The score, a finding about it, and the lines that show it with both shares below."""
    alpha, threshold = float(ranking.alpha), float(ranking.threshold)
    spatial, textual = _spatial(region, values), _textual(words, values, ranking)
    score = alpha * spatial.value + (1.0 - alpha) * textual.value
    reached = score >= threshold
    shares = f"{_number(alpha)} * {_number(spatial.value)} + {_number(1.0 - alpha)} * {_number(textual.value)}"
    exact = not reached and _number(score) == _number(threshold)
    told = Finding(
        f"{_number(alpha)} * spatial + {_number(1.0 - alpha)} * textual >= {_number(threshold)}",
        reached,
        f"{shares} = {score if exact else _number(score)}",
        "" if reached else f"{_number(threshold - score)} more",
    )
    condition = " AND ".join(map(to_text, words.nodes))
    return (
        score,
        told,
        [
            f"    {told}",
            f"      spatial  {_number(spatial.value)} of {to_text(region.node)}: {spatial.came}",
            f"      textual  {_number(textual.value)} of {condition}: {textual.came}",
        ],
    )


def _spatial(region: _Region, values: Values) -> _Share:
    """The share of the region that the event's place covers; 0 or 1 if either has no area."""
    came = value_shown(values, region.place)
    value = cast(Value | None, values.get(region.place))
    place = None if value is None else box_of(value)
    if place is None:
        return _Share(0.0, came if value is None else f"{came}, not a point or box")
    own = region.bounds
    lower, upper = max(own[1], place[1]), min(own[3], place[3])
    widths = [min(one[2], other[2]) - max(one[0], other[0]) for one in sides_of(own) for other in sides_of(place)]
    common = [width for width in widths if width >= 0.0]
    if not common or lower > upper:
        return _Share(0.0, f"{came}, outside")
    area = _area(own)
    if not (area > 0.0 and _area(place) > 0.0):
        return _Share(1.0, f"{came}, in contact")
    return _Share(_ratio(_total(common) * (upper - lower), area), f"{came}, which overlaps it")


def _area(box: Bounds) -> float:
    """The area of a box; of both sides, if it crosses the antimeridian."""
    return _total([side[2] - side[0] for side in sides_of(box)]) * (box[3] - box[1])


def _total(widths: Sequence[float]) -> float:
    """Add one after the other, as the index does: `sum` of Python 3.12 compensates for rounding."""
    total = 0.0
    for width in widths:
        total += width
    return total


def _textual(words: _Keywords, values: Values, ranking: Similar) -> _Share:
    """The share of the keywords' weight that the event has. Both sums follow the order of the keywords."""
    weights = ranking.weights or {}
    common, total = 0.0, 0.0
    there = {word for line in words.lines or () for word in line}
    for word in words.asked:
        total += (weight := float(weights.get(word, 1.0)))
        common += weight if word in there else 0.0
    if words.lines is None:
        return _Share(0.0, value_shown(values, words.name))
    has, lacks = ([word for word in words.asked if (word in there) is given] for given in (True, False))
    parts = [f"{verb} {_weighed(some, ranking)}" for verb, some in (("has", has), ("lacks", lacks)) if some]
    return _Share(_ratio(common, total), f"{name_text(words.name)} {' and '.join(parts)}")


def _weighed(words: Sequence[str], ranking: Similar) -> str:
    """Words, with their weights if any were given."""
    shown = (to_text(Constant(word)) for word in words)
    if not ranking.weights:
        return ", ".join(shown)
    weights = ranking.weights
    return ", ".join(f"{text} ({_number(weights.get(word, 1.0))})" for word, text in zip(words, shown, strict=True))


def _ratio(part: float, whole: float) -> float:
    """The ratio of a part to a whole above 0; 0 if the whole overflows float64."""
    return part / whole if whole < float("inf") else 0.0


def _phrases(nodes: Iterable[Expression], values: Values) -> Iterator[Finding]:
    """Findings about the phrases of texts; a phrase must occur as a whole."""
    for node in nodes:
        if not is_text(node):
            continue
        call = cast(Call, node)
        lines = lines_of(text_in(call, values), settings_of(call))
        name = name_text(cast(Attribute, call.arguments[0]).name)
        for phrase in asked_by(call).phrases:
            truth = None if lines is None else any(has_phrase(line, phrase) for line in lines)
            asked = f'"{" ".join(phrase)}" in {name}'
            yield Finding(asked, truth, "", "" if truth else "these words side by side")


def _number(value: float) -> str:
    return f"{value:.6g}"
