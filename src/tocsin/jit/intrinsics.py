"""Instructions of the processor that neither Python nor Numba has a word for."""

from __future__ import annotations

from typing import Any, Final

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from tocsin.jit.checking import require_bytes
from tocsin.jit.compiling.stores import CHECKED, compiles_for

_SIXTEEN: Final = 16
_COMPRESSES: Final = "x86-64-v4"
"""The level of processors that have an instruction to store flagged numbers one after the other."""


@intrinsic
def float_of_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 with these 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate


@intrinsic
def bits_of_float(typing_context: Any, number: Any) -> Any:
    """The 64 bits of a float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@intrinsic
def count_bits(typing_context: Any, mask: Any) -> Any:
    """The number of set bits of a uint64, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an array's element, which may lie beyond the array's end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte_pointer)
        to_read, keep, data = (ir.Constant(word, n) for n in (0, 3, 1))
        builder.call(function, [address, to_read, keep, data])
        return context.get_dummy_value()

    return numba.types.void(array, index), generate


@intrinsic
def load_word(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight bytes of an array from an index on, as a little-endian uint64. They must lie within the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = ir.IntType(64)
        if CHECKED:
            require_bytes(context, builder, view, arguments[1], signature.args[1], 8)
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), word.as_pointer())
        return builder.load(address, align=1)

    return numba.types.uint64(array, index), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the lowest set bit of a uint64; 64 if none is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return numba.types.int64(numba.types.uint64), generate


@intrinsic
def highest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the highest set bit of a uint64; -1 if none is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return numba.types.int64(numba.types.uint64), generate


@intrinsic
def write_sixteen(typing_context: Any, numbers: Any, flags: Any, first: Any, out: Any, at: Any) -> Any:
    """Write the flagged ones of sixteen numbers from `first` on; returns how many, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, marks, target = (make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 3))
        source, marks = (builder.gep(data, [arguments[2]]) for data in (source, marks))
        target = builder.gep(target, [arguments[4]])
        if compiles_for(_COMPRESSES):
            return _compressed(builder, source, marks, target)
        return _one_by_one(builder, source, marks, target)

    return numba.types.uint64(numbers, flags, first, out, at), generate


def _compressed(builder: Any, source: Any, marks: Any, target: Any) -> Any:
    """With AVX-512: one compressing store."""
    lanes = ir.VectorType(ir.IntType(32), _SIXTEEN)
    mask = ir.VectorType(ir.IntType(1), _SIXTEEN)
    values = builder.load(builder.bitcast(source, lanes.as_pointer()), align=4)
    bytes_ = builder.load(builder.bitcast(marks, ir.VectorType(ir.IntType(8), _SIXTEEN).as_pointer()), align=1)
    chosen = builder.trunc(bytes_, mask)
    kind = ir.FunctionType(ir.VoidType(), [lanes, ir.IntType(32).as_pointer(), mask])
    store = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.compressstore.v{_SIXTEEN}i32")
    builder.call(store, [values, target, chosen])
    return builder.zext(builder.ctpop(builder.bitcast(chosen, ir.IntType(_SIXTEEN))), ir.IntType(64))


def _one_by_one(builder: Any, source: Any, marks: Any, target: Any) -> Any:
    """Without AVX-512: store each number, then advance by its flag."""
    written = ir.Constant(ir.IntType(64), 0)
    for i in range(_SIXTEEN):
        place = ir.Constant(ir.IntType(64), i)
        builder.store(builder.load(builder.gep(source, [place])), builder.gep(target, [written]))
        written = builder.add(written, builder.zext(builder.load(builder.gep(marks, [place])), ir.IntType(64)))
    return written


@intrinsic
def store_past_cache(typing_context: Any, array: Any, place: Any, number: Any) -> Any:
    """Store a number at a place of an array, past the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        store = builder.store(arguments[2], builder.gep(data, [arguments[1]]), align=8)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return numba.types.void(array, place, array.dtype), generate


@intrinsic
def fence(typing_context: Any) -> Any:
    """Let other threads see what was stored past the cache before they see what is stored later."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return numba.types.void(), generate
