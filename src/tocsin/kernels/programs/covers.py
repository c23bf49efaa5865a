"""Covers: sets of predicates of which an event must satisfy at least one to satisfy an expression; the cheapest wins.

cover(AND) is the cheapest child's cover, cover(OR) the union of the children's. NOT has been pushed into the leaves.
Nothing is multiplied out, so covers never grow beyond the expression. OpIndex's pivot (Zhang et al. 2014, section 4.1)
is the special case "the rarest attribute of a conjunction". Its rule for CNF (section 6.1) is "the smallest clause".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import next_place


@inner
def choose_cover(
    program: NDArray[np.int32],
    start: int,
    stop: int,
    costs: NDArray[np.float64],
    picks: NDArray[np.int32],
    levels: NDArray[np.float64],
) -> tuple[float, int]:
    """The cost of the cheapest cover of program[start:stop], and the place of the child that gives it.

    `costs` are the costs of the literals. For each AND, picks[place - start] becomes the place of the child whose cover
    it uses. `levels` is the stack of open groups: place, end, cost so far, pick.
    """
    depth = np.int64(0)
    _open(levels, depth, start - 1, stop, np.inf)
    place = start
    while True:
        while place == levels[depth, 1]:
            cost = levels[depth, 2]
            if depth == 0:
                return cost, np.int64(levels[0, 3])
            group = np.int64(levels[depth, 0])
            if program[group] == codes.OPEN_AND:
                picks[group - start] = levels[depth, 3]
            depth -= 1
            _join(program, levels, depth, group, cost)
        if program[place] >= 0:
            _join(program, levels, depth, place, costs[program[place]])
            place += 1
        else:
            depth += 1
            is_and = program[place] == codes.OPEN_AND
            _open(levels, depth, place, next_place(program, place), np.inf if is_and else 0.0)
            place += 2


@inlined
def _open(levels: NDArray[np.float64], depth: int, place: int, end: int, cost: float) -> None:
    levels[depth, 0] = place
    levels[depth, 1] = end
    levels[depth, 2] = cost
    levels[depth, 3] = -1.0


@inlined
def _join(program: NDArray[np.int32], levels: NDArray[np.float64], depth: int, child: int, cost: float) -> None:
    """Add a finished child to the enclosing group."""
    group = np.int64(levels[depth, 0])
    if depth > 0 and program[group] == codes.OPEN_OR:
        levels[depth, 2] += cost
    elif cost < levels[depth, 2] or levels[depth, 3] < 0:
        levels[depth, 2] = cost
        levels[depth, 3] = child


@inner
def cover_literals(
    program: NDArray[np.int32],
    start: int,
    root: int,
    picks: NDArray[np.int32],
    stack: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write the literals of the cover that `choose_cover` chose; returns how many. `stack` has the program's length."""
    depth = 1
    stack[0] = root
    count = 0
    while depth > 0:
        depth -= 1
        place = stack[depth]
        if program[place] >= 0:
            out[count] = program[place]
            count += 1
        elif program[place] == codes.OPEN_AND:
            stack[depth] = picks[place - start]
            depth += 1
        else:
            end = next_place(program, place)
            place += 2
            while place < end:
                stack[depth] = place
                depth += 1
                place = next_place(program, place)
    return count
