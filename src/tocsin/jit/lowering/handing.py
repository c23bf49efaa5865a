"""Tables that Python passes to a kernel: written down as words where Python's call is taken apart.

Numba passes each array of a table as seven arguments, after some fifty instructions each, and `viewed` then takes two
of them. A table that a kernel only views is passed as a pointer to these words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir import Arg, Assign, Del, Expr, FreeVar, Global, Var
from numba.extending import NativeValue, unbox

from tocsin.jit.words import DATA, SHAPE, VIEWING, WORD, Handed, slots, word_of


@unbox(Handed)
def _unboxed(kind: Handed, table: Any, given: Any) -> Any:
    """Write the words of a table on the stack."""
    builder = given.builder
    out = cgutils.alloca_once(builder, WORD, size=ir.Constant(WORD, max(slots(kind.kind), 1)))
    failed, at = cgutils.false_bit, 0
    for part, value in _parts(given, kind.kind, table):
        failure, words = _words_of(given, part, value)
        failed = failure if failed is cgutils.false_bit else builder.or_(failed, failure)
        for word in words:
            builder.store(word, cgutils.gep_inbounds(builder, out, at))
            at += 1
    with cgutils.if_unlikely(builder, failed):
        given.pyapi.err_set_string("PyExc_TypeError", "a table of arrays and numbers has something else in it")
    return NativeValue(out, is_error=failed)


def _parts(given: Any, kind: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The arrays and numbers of a tuple of Python, depth first."""
    if not isinstance(kind, types.BaseTuple):
        yield kind, value
        return
    for number, part in enumerate(kind.types):
        yield from _parts(given, part, given.pyapi.tuple_getitem(value, number))


def _words_of(given: Any, kind: Any, value: Any) -> tuple[Any, list[Any]]:
    """Whether a value of Python is of another kind, and its words.

    The tuple of Python keeps an array, so no reference is counted.
    """
    builder = given.builder
    if isinstance(kind, types.NoneType):
        return cgutils.false_bit, [ir.Constant(WORD, 0)]
    if not isinstance(kind, types.Array):
        number = given.pyapi.to_native_value(kind, value)
        return number.is_error, [word_of(builder, kind, number.value)]
    array = cgutils.alloca_once(builder, given.context.get_value_type(kind))
    pointer = ir.IntType(8).as_pointer()
    takes = ir.FunctionType(ir.IntType(32), [pointer, pointer])
    adapt = cgutils.get_or_insert_function(builder.module, takes, "numba_adapt_ndarray")
    code = builder.call(adapt, [value, builder.bitcast(array, pointer)])
    data = builder.ptrtoint(builder.load(cgutils.gep_inbounds(builder, array, 0, DATA)), WORD)
    shape = [builder.load(cgutils.gep_inbounds(builder, array, 0, SHAPE, d)) for d in range(kind.ndim)]
    return cgutils.is_not_null(builder, code), [data, *shape]


@register_pass(mutates_CFG=False, analysis_only=False)
class HandTables(FunctionPass):  # type: ignore[misc]
    """Change the type of arguments that are tables, and that the function only views.

    A kernel that calls such a function passes it a view, which is not changed.
    """

    _name = "tocsin_hand_tables"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        used = _otherwise_used(state.func_ir)
        state.args = tuple(
            Handed(kind) if number not in used and isinstance(kind, types.BaseNamedTuple) and _is_table(kind) else kind
            for number, kind in enumerate(state.args)
        )
        return True


def _is_table(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_table, kind.types))
    if isinstance(kind, types.Array):
        return bool(kind.layout == "C")
    return isinstance(kind, types.Integer | types.Float | types.Boolean | types.NoneType)


def _otherwise_used(function: Any) -> set[int]:
    """The numbers of the arguments that a function uses in another way than viewing them."""
    instructions = [one for block in function.blocks.values() for one in block.body if not isinstance(one, Del)]
    arguments = {one.target.name: one.value.index for one in instructions if _assigns(one, Arg)}
    viewers = {
        one.target.name for one in instructions if _assigns(one, Global | FreeVar) and one.value.value in VIEWING
    }
    while True:  # copies of arguments count as arguments
        copies = {
            one.target.name: arguments[one.value.name]
            for one in instructions
            if _assigns(one, Var) and one.value.name in arguments and one.target.name not in arguments
        }
        if not copies:
            break
        arguments |= copies
    used: set[int] = set()
    for one in instructions:
        is_view = _assigns(one, Expr) and one.value.op == "call" and one.value.func.name in viewers
        if not (is_view or _assigns(one, Arg | Var)):
            used.update(arguments[var.name] for var in one.list_vars() if var.name in arguments)
    return used


def _assigns(instruction: Any, kind: Any) -> bool:
    return isinstance(instruction, Assign) and isinstance(instruction.value, kind)
