"""What does an access index hold? Fields with their operands, and three kinds of lists, clustered by access key.

An event's value of a field becomes a rank code among the field's operands: 2 r + 1 is operand r, 2 r lies just before
it; so every predicate on the field is an inclusive range of codes, and an absent value is -1, which no range has.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.layouts import Block, Memo
from tocsin.kernels.packing import kind_of

LOWEST_CODE: Final = 0
HIGHEST_CODE: Final = 2**31 - 1
ABSENT: Final = -1
LATER: Final = -2  # there, with a code that is only worked out where a predicate is tested

# Kinds of a field, beside the types of values (`codes.NUMBER` .. `codes.INSTANT`), whose code is the value's.
LIST_PRESENT: Final = 4  # the attribute is a list
PATTERN: Final = 6  # each pattern that a string fits: 2 p for LIKE pattern p, 2 r + 1 for regular expression r
PRESENT: Final = 7  # the attribute is there, whatever its type
ELEMENT: Final = 8  # + a type: each element of that type in a list; an event may have many

# What a run of a clustered list is sorted by.
ANY: Final = -3  # ranges without ends
AT_MOST: Final = -2  # ranges without a lower end, by their upper end
AT_LEAST: Final = -1  # ranges without an upper end, by their lower end; everything else: by the lower end


# Numbers of a predicate. NARROW holds where no code of a finite end has more than 16 bits: lowest | highest << 16, and
# NARROW_HIGHEST for HIGHEST_CODE.
NARROW: Final = 2
WIDE: Final = 3
NARROW_HIGHEST: Final = 0xFFFF


class Fields(NamedTuple):
    """An attribute, seen as a kind, through a transform. A attributes, D fields, O operands."""

    starts: NDArray[np.int32]  # (A + 1,) fields [starts[a], starts[a + 1]) are attribute a's
    kinds: NDArray[np.uint8]  # (D,)
    transforms: NDArray[np.uint16]  # (D,)
    operand_starts: NDArray[np.int64]  # (D + 1,)
    operands: NDArray[np.int64]  # (O,) payloads, strings as codes of the vocabulary; ascending within a field


class Runs(NamedTuple):
    """Lists by field, each cut into runs of one class. D fields, R runs, E entries."""

    starts: NDArray[np.int64]  # (D + 1,) entries [starts[d], starts[d + 1]) are field d's
    run_starts: NDArray[np.int32]  # (D + 1,) so are its runs
    run_stops: NDArray[np.int64]  # (R,) where each run ends; it starts where the one before ends
    run_widths: NDArray[np.int32]  # (R,) ANY, AT_MOST, AT_LEAST, or the widest range in it (highest - lowest code)


class Postings(NamedTuple):
    """Access keys that lead to a subscription: it matches where the key holds, or must then be verified. E entries."""

    lows: NDArray[np.int32]  # (E,)
    highs: NDArray[np.int32]  # (E,)
    owners: NDArray[np.int32]  # (E,) the subscription


class Conjunctions(NamedTuple):
    """Access keys of conjunctions of two ranges or more, and their predicates beside them. E entries, P predicates."""

    bounds: NDArray[np.int32]  # (E,) the operand that the run is sorted by
    filters: NDArray[np.uint16]  # (E,) of another predicate: `kernels.filters` says how
    tails: NDArray[np.uint32]  # (E,) its first predicate
    owners: NDArray[np.int32]  # (E,) the subscription
    predicates: NDArray[np.int32]  # (WIDE P,) field * 4 + last * 2 + negated, lowest code, highest code
    stride: NDArray[np.int64]  # (1,) WIDE; or NARROW, and `predicates` (NARROW P,) with both codes in one number


class Programs(NamedTuple):
    """The expressions that are no conjunctions. Q programs, U of them without a cover."""

    owners: NDArray[np.int32]  # (Q,) the subscription of each program
    uncovered: NDArray[np.int32]  # (U,) the programs to verify on every event


class Lists(NamedTuple):
    """A whole access index, but for the expressions that need more than ranges."""

    fields: Fields
    single_runs: Runs
    singles: Postings
    conjunction_runs: Runs
    conjunctions: Conjunctions
    program_runs: Runs
    program_postings: Postings  # owners: the program to verify
    programs: Programs


class Scratch(NamedTuple):
    """A thread's memory between calls. D fields, N pairs that 64 events can activate, E entries, S subscriptions."""

    fields: NDArray[np.int32]  # (N,) what a block of events activates
    codes: NDArray[np.int32]  # (N,) or LATER
    payloads: NDArray[np.int64]  # (N,) what a code that is LATER is worked out from
    values: NDArray[np.int32]  # (D,) the event's code of each field; ABSENT between events
    satisfiable: NDArray[np.uint64]  # (1024,) a bit for each filter that an event may satisfy; 0 between events
    survivors: NDArray[np.uint32]  # (E + 1,) conjunctions that are still in question
    doubtful: NDArray[np.uint32]  # (E + 1,) those of which not even the first predicate is known to hold
    hits: NDArray[np.int32]  # (E + 1,) subscriptions found, in any order, perhaps twice
    candidates: NDArray[np.int32]  # (E + 1,) programs that one event's keys lead to, perhaps twice
    distinct: NDArray[np.int32]  # (Q + 1,) programs to verify for a block, each once
    program_lanes: NDArray[np.uint64]  # (Q,) the events of the block whose keys lead to each; 0 between blocks
    program_masks: NDArray[np.uint64]  # (Q + 1,) those that it holds for
    words: NDArray[np.uint64]  # (S / 64 + 1,) a bit for each subscription found; 0 between events
    summary: NDArray[np.uint64]  # (S / 4096 + 1,) a bit for each word that is not 0
    buckets: NDArray[np.int32]  # (BUCKETS,) to sort few hits by


class Verifier(NamedTuple):
    """What walking programs needs. `clock[0]` grows with every block, so that no leaf is taken for another's."""

    block: Block
    memo: Memo
    clock: NDArray[np.int64]  # (1,)


SCRATCH: Final = kind_of(Scratch, writeable=True)
VERIFIER: Final = kind_of(
    Verifier,
    writeable=True,
    dimensions=dict.fromkeys(("levels", "truths", "numbers", "term_types", "term_keys"), 2),
)
