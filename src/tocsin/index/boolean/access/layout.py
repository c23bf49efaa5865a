"""What does an access index hold, and how does that lie among named arrays?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.checks import ascending, check_below, check_starts, require, require_type
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.stored import restored, stored
from tocsin.kernels import codes
from tocsin.kernels.access_layouts import ELEMENT, Conjunctions, Lists, Runs

_TYPES = {
    "starts": np.int64,
    "run_starts": np.int32,
    "run_stops": np.int64,
    "run_widths": np.int32,
    "kinds": np.uint8,
    "transforms": np.uint16,
    "operand_starts": np.int64,
    "operands": np.int64,
    "seconds": np.uint16,
    "tails": np.uint32,
}
"""Everything else is int32."""


@dataclass(frozen=True, slots=True)
class AccessLayout:
    """The lists, and the expressions that need more than ranges.

    `programs_of` has the names, strings and transforms of all subscriptions, but the programs and leaves of those that
    are no conjunctions.
    """

    subscriptions: int
    lists: Lists
    programs_of: CompiledExpressions

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array under its name."""
        arrays = {"subscriptions": np.array([self.subscriptions], np.int64)}
        for name, table in self.lists._asdict().items():
            arrays |= {f"{name}.{field}": array for field, array in table._asdict().items()}
        return arrays | stored(self.programs_of)

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> AccessLayout:
        """From its arrays; `ValueError` or `KeyError` where they are not sound."""
        require_type("subscriptions", arrays["subscriptions"], np.int64, 1)
        require(len(arrays["subscriptions"]) == 1, "it does not say how many subscriptions there are")
        lists = Lists(**{name: _table(name, kind, arrays) for name, kind in get_type_hints(Lists).items()})
        layout = cls(int(arrays["subscriptions"][0]), lists, restored(arrays))
        check_layout(layout)
        return layout


def _table(name: str, kind: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    for field in kind._fields:
        expected = np.int32 if name == "fields" and field == "starts" else _TYPES.get(field, np.int32)
        require_type(f"{name}.{field}", arrays[f"{name}.{field}"], expected, 1)
    return kind(**{field: arrays[f"{name}.{field}"] for field in kind._fields})


def check_layout(layout: AccessLayout) -> None:
    """Raise `ValueError` unless every offset and number is in range: kernels check nothing."""
    lists, names = layout.lists, layout.programs_of
    fields, programs, conjunctions = lists.fields, lists.programs, lists.conjunctions
    count, subscriptions = len(fields.kinds), layout.subscriptions
    require(0 <= subscriptions < 2**31, "the number of subscriptions is out of range")
    check_starts("fields", fields.starts, count)
    require(len(fields.starts) == len(names.attributes) + 1, "the fields do not fit the attributes")
    require(len(fields.transforms) == count, "the fields differ in length")
    check_below("kind of a field", fields.kinds, ELEMENT + codes.LIST)
    check_below("transform of a field", fields.transforms, len(names.transforms))
    check_starts("operands", fields.operand_starts, len(fields.operands))
    require(len(fields.operand_starts) == count + 1, "the operands do not fit the fields")
    _check_runs("singles", lists.single_runs, count, lists.singles)
    _check_runs("conjunctions", lists.conjunction_runs, count, conjunctions[:4])
    _check_runs("programs", lists.program_runs, count, lists.program_postings)
    check_below("owner of a single", lists.singles.owners, subscriptions)
    check_below("owner of a conjunction", conjunctions.owners, subscriptions)
    check_below("owner of a program", programs.owners, subscriptions)
    require(len(programs.owners) == len(names), "the programs differ in length")
    require(ascending(programs.owners), "the programs are out of order")
    check_below("program without a cover", programs.uncovered, len(programs.owners))
    check_below("program of a posting", lists.program_postings.owners, len(programs.owners))
    _check_predicates(conjunctions, count)


def _check_runs(name: str, runs: Runs, fields: int, entries: Sequence[NDArray[Any]]) -> None:
    require(all(len(array) == len(entries[0]) for array in entries), f"the {name} differ in length")
    check_starts(name, runs.starts, len(entries[0]))
    check_starts(f"runs of {name}", runs.run_starts, len(runs.run_stops))
    require(len(runs.starts) == fields + 1 == len(runs.run_starts), f"the {name} do not fit the fields")
    require(len(runs.run_widths) == len(runs.run_stops), f"the runs of {name} differ in length")
    stops = np.concatenate([[0], runs.run_stops])
    require((stops[1:] >= stops[:-1]).all(), f"the runs of {name} are out of order")
    require((stops[runs.run_starts] == runs.starts).all(), f"the runs of {name} do not fit their fields")


def _check_predicates(conjunctions: Conjunctions, fields: int) -> None:
    """Every conjunction starts within the predicates, and the last of them ends one."""
    require(len(conjunctions.predicates) % 3 == 0, "the predicates are cut short")
    rows = conjunctions.predicates.reshape(-1, 3)
    check_below("field of a predicate", rows[:, 0] >> 2, fields)
    check_below("predicate of a conjunction", conjunctions.tails, len(rows))
    require(not len(rows) or rows[-1, 0] & 2, "the last conjunction has no end")
    ends = np.flatnonzero(rows[:, 0] & 2) + 1
    require(len(ends) == len(conjunctions.tails), "the predicates do not fit the conjunctions")
    require((conjunctions.tails == ends - np.diff(ends, prepend=0)).all(), "the conjunctions are out of order")
