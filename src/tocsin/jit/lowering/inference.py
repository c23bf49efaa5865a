"""Type inference that remembers which implementation a function of Numba has for numbers and arrays.

Numba tries all implementations of an operator, such as those for strings, each time it occurs. That was an eighth of
the time to compile a kernel.
"""

from __future__ import annotations

from typing import Any, Final

from numba import types
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaWarning, WarningsFixer  # type: ignore[attr-defined]
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typeinfer import TypeInferer

_PLAIN: Final = (types.Number, types.Boolean, types.Literal, types.Array, types.NoneType)
_FOUND: Final[dict[Any, Any]] = {}
"""Signatures by function and argument types. Compilations take turns, so they share it without a lock."""


class _Inferer(TypeInferer):  # type: ignore[misc]
    def resolve_call(self, function: Any, args: Any, named: Any) -> Any:
        if named or not isinstance(function, types.Function) or not all(isinstance(one, _PLAIN) for one in args):
            return super().resolve_call(function, args, named)
        found = _FOUND.get((function, args))
        if found is None:
            found = super().resolve_call(function, args, named)
            if found is not None:
                _FOUND[function, args] = found
        return found


@register_pass(mutates_CFG=True, analysis_only=False)
class Inference(NopythonTypeInference):  # type: ignore[misc]
    """Numba's type inference with this memory."""

    _name = "tocsin_inference"

    def run_pass(self, state: Any) -> bool:
        """Like `typed_passes.type_inference_stage`."""
        inferer = _Inferer(state.typingctx, state.func_ir, WarningsFixer(NumbaWarning))
        stack = state.typingctx.callstack.register(state.targetctx.target, inferer, state.func_id, state.args)
        with stack, inferer.warnings:
            for number, (name, kind) in enumerate(zip(state.func_ir.arg_names, state.args, strict=True)):
                inferer.seed_argument(name, number, kind)
            if state.return_type is not None:
                inferer.seed_return(state.return_type)
            inferer.build_constraint()
            state.typing_errors = inferer.propagate()
            state.typemap, state.return_type, state.calltypes = inferer.unify()
        return True
