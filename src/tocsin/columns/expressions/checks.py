"""Validation of loaded compiled expressions. Kernels check nothing, so every number is checked on load."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.leaf_kinds import ATTRIBUTES, REGEXES, TABLES, refers
from tocsin.columns.payloads import HIGHEST, LOWEST, first_and_last
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.kernels.programs.walking import valid_programs
from tocsin.language import regex_problem


def require(holds: Any, what: str) -> None:
    """Raise `ValueError` unless `holds`."""
    if not holds:
        raise ValueError(what)


def require_type(name: str, array: NDArray[Any], dtype: DTypeLike, dimensions: int) -> None:
    """Raise `ValueError` unless an array has the type and number of dimensions that its readers expect."""
    if array.dtype != dtype or array.ndim != dimensions:
        raise ValueError(f"array {name} is {array.ndim}-dimensional {array.dtype}")


def ascending(keys: Texts | NDArray[Any]) -> bool:
    """Whether each key is larger than the one before it."""
    if not isinstance(keys, Texts):
        return bool((keys[1:] > keys[:-1]).all())  # a difference could overflow
    strings = keys.arrow()
    return len(strings) < 2 or bool(pc.all(pc.less(strings[:-1], strings[1:])).as_py())


def check_starts(name: str, starts: NDArray[Any], length: int) -> None:
    """Raise `ValueError` unless offsets start at 0, never decrease, and end at `length`."""
    in_order = len(starts) and starts[0] == 0 and starts[-1] == length and (starts[1:] >= starts[:-1]).all()
    require(in_order, f"the offsets of {name} are out of order")


def check_below(name: str, numbers: NDArray[Any], limit: int) -> None:
    """Raise `ValueError` unless all numbers are at least 0 and below a limit."""
    require(not len(numbers) or (numbers.min() >= 0 and numbers.max() < limit), f"{name} points outside its array")


def check_expressions(compiled: CompiledExpressions) -> None:
    """Raise `ValueError` unless every offset and number of the expressions is in range."""
    _check_names(compiled)
    arrays = compiled.arrays
    attributes, leaves = len(compiled.attributes), len(arrays.leaf_kinds)
    for field in Expressions._fields:
        if field.startswith("leaf_"):
            require(len(getattr(arrays, field)) == leaves, f"{field} differs in length from the other leaves")
    check_starts("program", arrays.program_starts, len(arrays.program))
    for name, table in TABLES.items():
        if table.starts:
            check_starts(name, getattr(arrays, table.starts), len(getattr(arrays, table.columns[0])))
    require(len(arrays.eager_starts) == attributes + 1, "the eager leaves do not fit the attributes")
    eager = int(arrays.eager_starts[-1])
    check_starts("eager leaves", arrays.eager_starts, min(eager, leaves))
    require(len(arrays.set_types) == len(arrays.set_payloads), "the sets differ in length")
    check_below("transform of a leaf", arrays.leaf_transforms, len(compiled.transforms))
    check_below("type of an element", arrays.set_types, codes.LIST)
    check_below("token of a pattern", arrays.pattern_tokens, codes.ANY_ONE + 1)
    require(arrays.boxes.shape[1] == 4, "a box does not have four edges")
    require(np.isfinite(arrays.boxes).all() and np.isfinite(arrays.constants).all(), "a constant is not finite")
    _check_leaves(arrays, attributes, len(compiled.regexes), eager)
    _check_constants(arrays, len(compiled.vocabulary))
    _check_programs(arrays, attributes, len(compiled.transforms))
    require(
        valid_programs(arrays.program, arrays.program_starts, leaves, codes.STACK - 4), "a program is not well formed"
    )


def _check_names(compiled: CompiledExpressions) -> None:
    """Check the strings: sorted operands, known transforms and valid regular expressions."""
    require(ascending(compiled.vocabulary), "its vocabulary is not in order")
    require(len(set(compiled.attributes)) == len(compiled.attributes), "an attribute comes twice")
    require(compiled.transforms[:1] == [""], "its transforms do not start with none")
    require(all(set(t) <= {"c", "a"} for t in compiled.transforms), "a transform is unknown")
    for pattern, transform in compiled.regexes:
        require(transform < len(compiled.transforms), "the transform of a regular expression is unknown")
        require(regex_problem(pattern) is None, "a regular expression is not valid")


def _check_leaves(arrays: Expressions, attributes: int, regexes: int, eager: int) -> None:
    """Check the references of each kind of leaf."""
    kinds = arrays.leaf_kinds
    require((kinds[:eager] <= codes.LAST_EAGER).all(), "the eager leaves do not come first")
    owners = np.repeat(np.arange(attributes), np.diff(arrays.eager_starts))
    require((arrays.leaf_attributes[:eager] == owners).all(), "an eager leaf is under another attribute")
    check_below("kind of a leaf", kinds, codes.UNKNOWN_LEAF + 1)
    check_below("type of a leaf", arrays.leaf_types, codes.UNTYPED)
    array = (kinds == codes.ARRAY_SET) | (kinds == codes.ARRAY_PAIR)
    check_below("operation of a leaf", arrays.leaf_operations[array], codes.OVERLAPS + 1)
    check_below("operation of a leaf", arrays.leaf_operations[~array], codes.GREATER_OR_EQUAL + 1)
    limits = {name: table.length(arrays) for name, table in TABLES.items()}
    limits |= {ATTRIBUTES: attributes, REGEXES: regexes}
    for name, limit in limits.items():
        for column in ("leaf_attributes", "leaf_others"):
            check_below("a leaf", getattr(arrays, column)[refers(kinds, column, name)], limit)


def _check_constants(arrays: Expressions, strings: int) -> None:
    """Check that constants of ranges and sets are of their types, and that their strings exist."""
    ranges = arrays.leaf_kinds == codes.RANGE
    for ends, none in ((arrays.leaf_lows, LOWEST), (arrays.leaf_highs, HIGHEST)):
        closed = ranges & (ends != none)
        check_payloads("end of a range", arrays.leaf_types[closed], ends[closed], strings)
    check_payloads("element of a set", arrays.set_types, arrays.set_payloads, strings)
    owners = np.repeat(np.arange(len(arrays.set_starts) - 1), np.diff(arrays.set_starts))
    types, payloads = arrays.set_types, arrays.set_payloads
    of_one = (owners[1:] == owners[:-1]) & (types[1:] == types[:-1])
    in_order = (owners[1:] > owners[:-1]) | (types[1:] > types[:-1]) | (of_one & (payloads[1:] > payloads[:-1]))
    require(in_order.all(), "the elements of a set are out of order")
    of_strings = arrays.set_payloads[arrays.set_types == codes.STRING]
    require((of_strings & 1 == 1).all(), "an element of a set lies between two strings")


def check_payloads(name: str, types: NDArray[np.uint8], payloads: NDArray[np.int64], strings: int) -> None:
    """Raise `ValueError` unless each payload is a constant of its type, or a gap beside one."""
    require(not len(types) or types.max() <= codes.INSTANT, f"an {name} has a type without constants")
    for kind in (codes.NUMBER, codes.STRING, codes.BOOLEAN, codes.INSTANT):
        of_kind = payloads[types == kind]
        least, greatest = first_and_last(kind, strings)
        sound = not len(of_kind) or (of_kind.min() >= least and of_kind.max() <= greatest)
        require(sound, f"an {name} is not a constant of its type")


def _check_programs(arrays: Expressions, attributes: int, transforms: int) -> None:
    """Check terms and truth programs: their references, and that their stacks neither underflow nor overflow."""
    steps = arrays.term_codes
    on_attribute = np.isin(steps, codes.WITH_ATTRIBUTE)
    has_constant = np.isin(steps, codes.WITH_CONSTANT)
    require(len(arrays.term_arguments) == len(steps) == len(arrays.term_transforms), "the terms differ in length")
    check_below("step of a term", steps, codes.TERM_INSTANT + 1)
    check_below("attribute of a term", arrays.term_arguments[on_attribute], attributes)
    check_below("constant of a term", arrays.term_arguments[has_constant], len(arrays.constants))
    check_below("transform of a term", arrays.term_transforms, transforms)
    _check_stack("a term", arrays.term_starts, _CHANGES_OF_TERM[steps], _NEEDS_OF_TERM[steps])

    steps = arrays.truth_codes
    asks = steps == codes.TRUTH_LEAF
    require(len(arrays.truth_arguments) == len(steps), "the truth programs differ in length")
    check_below("step of a truth program", steps, codes.TRUTH_COUNTED + 1)
    check_below("leaf of a truth program", arrays.truth_arguments[asks], len(arrays.leaf_kinds))
    kinds = arrays.leaf_kinds[arrays.truth_arguments[asks]]
    require((kinds != codes.TRUTH).all(), "a truth program refers to another")
    _check_stack("a truth program", arrays.truth_starts, _CHANGES[steps], _NEEDS[steps], codes.TRUTH_STACK)


_CHANGES_OF_TERM, _NEEDS_OF_TERM = (np.full(codes.TERM_INSTANT + 1, usual) for usual in (-1, 2))
"""By how many values each step of a term changes its stack, and how many it takes."""
for _step in (codes.TERM_ATTRIBUTE, *codes.WITH_CONSTANT, codes.TERM_NULL):
    _CHANGES_OF_TERM[_step], _NEEDS_OF_TERM[_step] = 1, 0
_CHANGES_OF_TERM[codes.TERM_INSTANT_OF], _NEEDS_OF_TERM[codes.TERM_INSTANT_OF] = 0, 1

_CHANGES, _NEEDS = (np.full(codes.TRUTH_COUNTED + 1, usual) for usual in (-1, 2))
"""By how many values each step of a truth program changes its stack, and how many it takes."""
for _step, _change, _need in (
    (codes.TRUTH_LEAF, 1, 0),
    (codes.TRUTH_NOT, 0, 1),
    (codes.TRUTH_IS_NULL, 0, 1),
    (codes.TRUTH_COUNT, codes.COUNTER, 0),
    (codes.TRUTH_FAILS, 0, codes.COUNTER),
    (codes.TRUTH_ADD, -1, codes.COUNTER + 1),
    (codes.TRUTH_COUNTED, 1 - codes.COUNTER, codes.COUNTER),
):
    _CHANGES[_step], _NEEDS[_step] = _change, _need


def _check_stack(
    what: str, starts: NDArray[np.int64], change: NDArray[np.int64], need: NDArray[np.int64], room: int = codes.STACK
) -> None:
    """Check that each program leaves one value and stays within the stack."""
    if len(starts) == 1:
        return
    require((np.diff(starts) > 0).all(), f"{what} is empty")
    running = np.cumsum(change)
    before = np.concatenate([[0], running])[starts[:-1]]
    depth = running - np.repeat(before, np.diff(starts))
    require((depth - change >= need).all(), f"{what} takes more values than it has")
    require((depth[starts[1:] - 1] == 1).all(), f"{what} leaves more than one value")
    require(depth.max() < room, f"{what} is nested too deep")
