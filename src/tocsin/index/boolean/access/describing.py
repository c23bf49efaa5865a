"""Descriptions of the access keys that one subscription lies under, in the subscription language, for the user."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.pools import like_text
from tocsin.columns.payloads import numbers_of
from tocsin.index.boolean.access.kernels.layouts import Compounds, Runs
from tocsin.index.boolean.access.layout import AccessLayout, predicate_rows
from tocsin.index.fields.kernels.cells import cell_edges
from tocsin.index.fields.kernels.layouts import (
    CELL,
    ELEMENT,
    HIGHEST_CODE,
    LIST_PRESENT,
    LOWEST_CODE,
    NULL,
    PATTERN,
    PRESENT,
)
from tocsin.kernels import codes
from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.operators.operands import FOLD_CASE
from tocsin.language.operators.operator import asked_by_reading
from tocsin.language.operators.spatial import PLACE
from tocsin.model.expression import Attribute, Expression, fold
from tocsin.model.readings import Reading, reading_of
from tocsin.model.values import Instant

_MOST_SHOWN = 8
_ENOUGH = "; events with this need no verification"


def describe(layout: AccessLayout, number: int) -> str:
    """The keys under which a subscription is found. Cost: linear in the subscriptions."""
    lists = layout.lists
    if len(at := np.flatnonzero(lists.singles.owners == number)):
        low, high = lists.singles.lows[at], lists.singles.highs[at]
        return f"looked for under {_key(layout, _field(lists.single_runs, at[0]), low[0], high[0])}{_ENOUGH}"
    if len(at := np.flatnonzero(lists.conjunctions.owners == number)):
        first = predicate_rows(lists.conjunctions)[lists.conjunctions.tails[at[0]]]
        key = _key(layout, int(first[0] >> 2), *((LOWEST_CODE, HIGHEST_CODE) if first[0] & 1 else first[1:3]))
        return f"looked for under {key}, then verified"
    program = np.flatnonzero(lists.programs.owners == number)
    if not len(program):
        return "never satisfied"
    sure, likely = lists.sure.postings.owners == number, lists.likely.postings.owners == program[0]
    entries = [(lists.sure, at) for at in np.flatnonzero(sure).tolist()]
    entries += [(lists.likely, at) for at in np.flatnonzero(likely).tolist()]
    keys = [_compound_key(layout, *entry) for entry in entries] or list(_keys_of_program(layout, int(program[0])))
    if not keys:
        return "verified on every event"
    if entries and not likely.any() and not np.diff(lists.sure.test_starts)[sure].any():
        return f"looked for under {_shown(keys)}{_ENOUGH}"
    return f"looked for under {_shown(keys)}, then verified"


def _shown(given: Sequence[str]) -> str:
    """The keys without duplicates; several postings may lie under one."""
    keys = list(dict.fromkeys(given))
    more = f" and {len(keys) - _MOST_SHOWN} more" if len(keys) > _MOST_SHOWN else ""
    return " or ".join(keys[:_MOST_SHOWN]) + more


def _compound_key(layout: AccessLayout, compounds: Compounds, entry: int) -> str:
    """The condition for an event to reach a posting under several attributes."""
    group = _field(compounds.runs, entry)
    schema = int(np.searchsorted(compounds.group_starts, group, side="right")) - 1
    fields = compounds.fields[compounds.starts[schema] : compounds.starts[schema + 1]].tolist()
    operands, rest, asked = np.diff(layout.lists.fields.operand_starts), int(compounds.keys[group]), []
    for field in reversed(fields):
        code = 2 * (rest % int(operands[field])) + 1
        rest //= int(operands[field])
        asked.append(_key(layout, field, code, code))
    low, high = compounds.postings.lows[entry], compounds.postings.highs[entry]
    last = [_key(layout, int(compounds.sorted_by[schema]), low, high)] if compounds.sorted_by[schema] >= 0 else []
    return " AND ".join([*reversed(asked), *last])


def _keys_of_program(layout: AccessLayout, program: int) -> Iterator[str]:
    runs, postings = layout.lists.program_runs, layout.lists.program_postings
    for at in np.flatnonzero(postings.owners == program).tolist():
        yield _key(layout, _field(runs, at), postings.lows[at], postings.highs[at])


def _field(runs: Runs, entry: int) -> int:
    return int(np.searchsorted(runs.starts, entry, side="right")) - 1


def _key(layout: AccessLayout, field: int, low: int, high: int) -> str:
    """A range of codes of a field, as a condition."""
    fields, known = layout.lists.fields, layout.programs_of
    attribute = int(np.searchsorted(fields.starts, field, side="right")) - 1
    reading, kind = reading_of(known.attributes[attribute]), int(fields.kinds[field])
    name = reading.rest if reading.is_value else name_text(reading.attribute)
    operands = fields.operands[fields.operand_starts[field] : fields.operand_starts[field + 1]]
    if kind in (PRESENT, LIST_PRESENT) or (low == LOWEST_CODE and high == HIGHEST_CODE):
        return f"{name} {_PRESENT.get(kind, 'present')}"
    if kind == NULL:
        return f"{name} IS NULL"
    if kind >= ELEMENT:
        return f"{name} with {_value(known, kind - ELEMENT, operands[low >> 1])[1]}"
    if kind == CELL:
        return _cell(name, int(fields.transforms[field]), int(operands[low >> 1]))
    for letter in known.transforms[fields.transforms[field]]:
        name = f"{'CASEI' if letter == FOLD_CASE else 'ACCENTI'}({name})"
    if kind == PATTERN:
        return _pattern(known, name, int(operands[low >> 1]))
    if low == high and (condition := _condition(reading)):
        return condition if _value(known, kind, operands[low >> 1])[1] == "TRUE" else f"NOT ({condition})"
    if low == high:
        return f"{name} = {_value(known, kind, operands[low >> 1])[1]}"
    ends = []
    if low != LOWEST_CODE:
        side, value = _value(known, kind, operands[low >> 1])
        ends.append(f"{name} {'>' if side > 0 else '>='} {value}")
    if high != HIGHEST_CODE:
        side, value = _value(known, kind, operands[high >> 1], is_high=True)
        ends.append(f"{name} {'<' if side < 0 else '<='} {value}")
    return " AND ".join(ends)


def _condition(reading: Reading) -> str:
    """The condition whose truth a reading is, as text; empty for other readings."""
    if not (reading.is_of_place or reading.is_condition):
        return ""

    def named(node: Expression, parts: Sequence[Expression]) -> Expression:
        is_place = reading.is_of_place and node == Attribute(PLACE)
        return Attribute(reading.attribute) if is_place else node.with_children(parts)

    asked = asked_by_reading(reading)
    return "" if asked is None else to_text(fold(asked, named))


def _cell(name: str, grid: int, payload: int) -> str:
    """A cell, as the rectangle that it covers."""
    left, lower, right, upper = cell_edges(grid, payload)
    return f"{name} in [{left:g}, {right:g}] x [{lower:g}, {upper:g}]"


def _pattern(known: CompiledExpressions, name: str, payload: int) -> str:
    """A pattern, as a condition."""
    if payload & 1:
        return f"MATCHES({name}, {constant_text(known.regexes[payload >> 1][0])})"
    starts, tokens = known.arrays.pattern_starts, known.arrays.pattern_tokens
    return f"{name} LIKE {constant_text(like_text(tokens[starts[payload >> 1] : starts[(payload >> 1) + 1]].tolist()))}"


_PRESENT = {
    codes.NUMBER: "a number",
    codes.STRING: "a string",
    codes.BOOLEAN: "true or false",
    codes.INSTANT: "a date",
    LIST_PRESENT: "a list",
}


def _value(known: CompiledExpressions, kind: int, payload: np.int64, *, is_high: bool = False) -> tuple[int, str]:
    """An operand as it was written, and its side of that value: -1 just below it, 1 just above, 0 equal."""
    if kind == codes.STRING:
        side = 0 if payload & 1 else -1 if is_high else 1
        return side, constant_text(known.vocabulary.text(int(payload >> 1) - (side > 0)))
    if kind == codes.BOOLEAN:
        return 0, constant_text(bool(payload))
    texts: dict[int, str] = {}  # by the operand's side of what was written: a number just above 5 was written as 5
    for side in (0, 1, -1):
        near = int(payload) - side
        if kind != codes.INSTANT:
            number = float(numbers_of(np.array(near)))
            if math.isfinite(number):
                texts[side] = constant_text(number)
        else:
            texts[side] = constant_text(Instant(near))
    best = min(texts, key=lambda side: len(texts[side]))
    return best, texts[best]
