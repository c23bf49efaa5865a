"""Finds programs already written as conjunctions of clauses, and their clauses, without multiplying out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import next_place


@kernel
def written_clauses(
    starts: NDArray[np.int64], program: NDArray[np.int32], kinds: NDArray[np.uint8], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The clauses of programs with no AND below an OR: clause starts, literals, owners.

    Includes only programs with 2 to `most` clauses, after folding constants, of which one has several literals. Cost:
    linear.
    """
    clause_starts = np.zeros(len(program) + 1, np.int64)
    literals = np.empty(len(program), np.int32)
    owners = np.empty(len(program), np.int32)
    clauses = 0
    for number in range(len(starts) - 1):
        first = clauses
        place, stop = starts[number], starts[number + 1]
        while place < stop and clauses >= first:
            if program[place] == codes.OPEN_AND:  # the program's own AND
                place += 2
                continue
            end = place + 1
            if program[place] == codes.OPEN_OR:
                end = next_place(program, place)
            written = _write_clause(program, place, end, kinds, literals, clause_starts[clauses])
            if written == 0:  # never holds, or is not a clause
                clauses = first - 1
            elif written > 0:
                owners[clauses] = number
                clauses += 1
                clause_starts[clauses] = clause_starts[clauses - 1] + written
            place = end
        longest = clauses > first and clause_starts[clauses] - clause_starts[first] > clauses - first
        if not longest or clauses < first + 2 or clauses > first + most:
            clauses = first
    return clause_starts[: clauses + 1].copy(), literals[: clause_starts[clauses]].copy(), owners[:clauses].copy()


@inlined
def _write_clause(
    program: NDArray[np.int32],
    place: int,
    end: int,
    kinds: NDArray[np.uint8],
    literals: NDArray[np.int32],
    at: int,
) -> int:
    """Write the literals of program[place:end] to literals[at:]. Returns how many, or -1 if one always holds.

    Returns 0 if none can hold, or if there is an AND.
    """
    written = 0
    always = False
    while place < end:
        code = program[place]
        if code == codes.OPEN_AND:
            return 0
        if code == codes.OPEN_OR:
            place += 2
            continue
        place += 1
        constant = 2 * np.int64(kinds[code >> 1]) + (code & 1)
        if constant < 2 * codes.TRUE_LEAF:
            literals[at + written] = code
            written += 1
        always = always or constant == 2 * codes.TRUE_LEAF or constant == 2 * codes.FALSE_LEAF + 1
    return -1 if always else written
