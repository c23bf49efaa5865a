"""Layouts of an access index: fields with their operands, and lists clustered by access key."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.layouts import ABSENT, Fields
from tocsin.jit.views import kind_of

# Classes of runs, by what they are sorted by.
ANY: Final = -3  # ranges without ends
AT_MOST: Final = -2  # ranges without a lower end, by their upper end
AT_LEAST: Final = -1  # ranges without an upper end, by their lower end; so are all other ranges


# The numbers that store a predicate. NARROW is possible if every finite code has at most 16 bits. Then both ends are
# lowest | highest << 16, with NARROW_HIGHEST for HIGHEST_CODE.
NARROW: Final = 2
WIDE: Final = 3
NARROW_HIGHEST: Final = 0xFFFF


class Runs(NamedTuple):
    """Lists by field, each cut into runs of one class. D fields, R runs, E entries."""

    starts: NDArray[np.int64]  # (D + 1,) entries [starts[d], starts[d + 1]) are field d's
    run_starts: NDArray[np.int32]  # (D + 1,) field d's runs, likewise
    run_stops: NDArray[np.int64]  # (R,) the end of each run; it starts at the end of the one before
    run_widths: NDArray[np.int32]  # (R,) ANY, AT_MOST, AT_LEAST, or the widest range in it (highest - lowest code)


class Postings(NamedTuple):
    """Access keys that lead to a subscription: a match if the key holds, or a candidate for verification. E entries."""

    lows: NDArray[np.int32]  # (E,)
    highs: NDArray[np.int32]  # (E,)
    owners: NDArray[np.int32]  # (E,) the subscription


class Conjunctions(NamedTuple):
    """Access keys of conjunctions of two ranges or more, with their predicates. E entries, P predicates."""

    bounds: NDArray[np.int32]  # (E,) the operand that the run is sorted by
    filters: NDArray[np.uint16]  # (E,) filter of another predicate: see `index.boolean.access.kernels.filters`
    tails: NDArray[np.uint32]  # (E,) its first predicate
    owners: NDArray[np.int32]  # (E,) the subscription
    predicates: NDArray[np.int32]  # (WIDE P,) field * 4 + last * 2 + negated, lowest code, highest code
    stride: NDArray[np.int64]  # (1,) WIDE; or NARROW: `predicates` is (NARROW P,) with both codes in one number


class Programs(NamedTuple):
    """The expressions that are not conjunctions of ranges. Q programs, U of them without a cover."""

    owners: NDArray[np.int32]  # (Q,) the subscription of each program
    uncovered: NDArray[np.int32]  # (U,) the programs to verify on every event


class Compounds(NamedTuple):
    """Access keys of several fields, and the lists under them. K schemas with F equalities, G groups."""

    starts: NDArray[np.int64]  # (K + 1,)
    fields: NDArray[np.int32]  # (F,) the fields of each schema; a many-valued field comes first
    sorted_by: NDArray[np.int32]  # (K,) the field by whose code the lists are searched, -1 for none
    group_starts: NDArray[np.int64]  # (K + 1,) groups [group_starts[k], group_starts[k + 1]) are schema k's
    keys: NDArray[np.int64]  # (G,) the operands of the fields as one number, ascending within a schema
    runs: Runs  # by group
    postings: Postings
    test_starts: NDArray[np.int32]  # (E + 1,) the tests that remain for each posting
    tests: NDArray[np.int32]  # (3 T,) field or attribute * 8 + mark, lowest code, box or literal, highest code
    boxes: Annotated[NDArray[np.float64], 2]  # (B, 4) xmin, ymin, xmax, ymax


class Lists(NamedTuple):
    """The lists of an access index, without the expressions that need more than ranges."""

    fields: Fields
    single_runs: Runs
    singles: Postings
    conjunction_runs: Runs
    conjunctions: Conjunctions
    program_runs: Runs
    program_postings: Postings  # owners: the program to verify
    programs: Programs
    sure: Compounds  # owners: subscriptions, which match if the tests hold
    likely: Compounds  # owners: programs, to be verified if the tests hold


class Hashing(NamedTuple):
    """Hash tables of the groups of schemas. K schemas, S slots."""

    starts: NDArray[np.int64]  # (K + 1,) slots [starts[k], starts[k + 1]), a power of 2, are schema k's
    shifts: NDArray[np.int64]  # (K,) shifts of hashes that leave as many bits as its slots need
    slots: NDArray[np.int64]  # (SLOT S,) see `kernels.placing_compounds` for the numbers of a slot


class GroupLookup(NamedTuple):
    """The look-ups of an event in schemas, and then the groups that they find."""

    schemas: Annotated[NDArray[np.int32], "lookups"]
    codes: Annotated[NDArray[np.int32], "lookups"]  # the code by which the group's postings are searched
    keys: Annotated[NDArray[np.int64], "lookups"]
    slots: Annotated[NDArray[np.int64], "lookups"]  # where the search begins; then where it ended
    firsts: Annotated[NDArray[np.int64], "lookups"]  # postings [firsts, lasts) of its first run can hold the code
    lasts: Annotated[NDArray[np.int64], "lookups"]


class Wants(NamedTuple):
    """The matches that are wanted. E events, S subscriptions, M singles. If k > 0, only each event's k best."""

    alive: NDArray[np.uint64]  # (S // 64 + 1,)
    k: int
    scores: NDArray[np.float64]  # (S,), or empty
    maxima: NDArray[np.float64]  # (S // 64 + 1,) the best score of each 64
    chosen_starts: NDArray[np.int64]  # (E + 1,) event e's singles are chosen[chosen_starts[e]:chosen_starts[e + 1]];
    chosen: NDArray[np.int32]  # (M,) if there are no starts, lists of singles are searched
    floors: NDArray[np.float64]  # (E,) matches of a lower score may be left out
    list_maxima: NDArray[np.float64]  # the best score of each block of the lists of conjunctions
    parts: NDArray[np.int64]  # addresses of code compiled when the best are wanted: `kernels.programs.parts`


class Scratch(NamedTuple):
    """A thread's memory between calls.

    `pairs` is how many (field, code) pairs 64 events can activate. `words` is how many words of 64 bits have a bit for
    each subscription.
    """

    pair_ends: Annotated[NDArray[np.int64], "lanes + 2"]  # an event's pairs are [pair_ends[lane], pair_ends[lane + 1])
    fields: Annotated[NDArray[np.int32], "pairs"]  # the fields that a block of events activates
    codes: Annotated[NDArray[np.int32], "pairs"]  # or LATER
    payloads: Annotated[NDArray[np.int64], "pairs"]  # the payload from which a LATER code is computed
    values: Annotated[NDArray[np.int32], "fields", ABSENT]  # the event's code of each field; ABSENT between events
    satisfiable: Annotated[NDArray[np.uint64], "1024"]  # a bit for each filter that may be satisfied; 0 between events
    survivors: Annotated[NDArray[np.uint32], "conjunctions + 1"]  # candidates whose first predicate is known to hold
    doubtful: Annotated[NDArray[np.uint32], "conjunctions + 1"]  # candidates of which no predicate is known to hold
    hits: Annotated[NDArray[np.int32], "entries + 1"]  # subscriptions found, in any order, perhaps twice
    candidates: Annotated[NDArray[np.int32], "postings + 1"]  # programs that one event's keys lead to, perhaps twice
    distinct: Annotated[NDArray[np.int32], "programs + 1"]  # programs to verify for a block, each once
    program_lanes: Annotated[NDArray[np.uint64], "programs"]  # the events whose keys lead to each; 0 between blocks
    program_masks: Annotated[NDArray[np.uint64], "programs + 1"]  # the events that it holds for
    words: Annotated[NDArray[np.uint64], "words"]  # a bit for each subscription found; 0 between events
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]  # a bit for each word that is not 0
    buckets: Annotated[NDArray[np.int32], "buckets"]  # for sorting few hits
    program_ends: Annotated[NDArray[np.int64], "lanes + 1"]  # like `pair_ends`, of the programs that hold
    program_counts: Annotated[NDArray[np.int64], "lanes"]  # number of programs that each event's keys lead to
    boxes: Annotated[NDArray[np.int32], "attributes"]  # the event's box of an attribute, or -1
    present: Annotated[NDArray[np.uint8], "attributes"]  # 1 for an attribute that the event has; 0 between events
    taken: Annotated[NDArray[np.int64], "3"]  # number of owners taken, of postings examined, of postings tested
    asked: GroupLookup


SCRATCH: Final = kind_of(Scratch)
