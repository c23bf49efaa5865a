"""The LLVM modules of functions: those that Python or an address leads to, and those that only these contain.

Numba optimises each function three times and generates machine code for it, then does both again in each of its
callers. Here only ways in are optimised, with all that they call, and only they become machine code.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, Final

import llvmlite.binding as llvm
from numba.core.codegen import CPUCodegen, JITCodeLibrary
from numba.core.compiler import CompileResult

from tocsin.jit.compiling.caching import REBUILDING

KIND = "linked"
"""Marks the serialised form of a `Linked`."""

_MAKES_THEM_OF_MODULES: Final = "llvm_module" in signature(CPUCodegen._function_pass_manager).parameters
"""Whether Numba makes the passes over functions once for each module, as it did before 0.62."""


class WayIn(JITCodeLibrary):  # type: ignore[misc]
    """A module with machine code."""

    def _optimize_functions(self, module: Any) -> None:
        """Numba's, but with the same passes for all functions, and without those that are only declared."""
        if _MAKES_THEM_OF_MODULES:
            super()._optimize_functions(module)
            return
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class Linked(WayIn):
    """A module that is only linked into others, as Numba generated it."""

    def _optimize_final_module(self) -> None:
        """Leave that to the ways in."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None, as there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Linked:
        """Numba sets the function's environment here."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """The ways in set the environments of all functions that they contain."""

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """The module without machine code."""
        return self.name, KIND, self._get_module_for_linking().as_bitcode()


def rebuilt(context: Any, payload: Any) -> Any:
    """The compiled function from the serialised form of one with a `Linked`."""
    (name, _, bitcode), description, environment, signature, objectmode, lifted, annotation, reload, others = payload
    library = Linked(context.codegen(), name)
    library._final_module = library._shared_module = llvm.parse_bitcode(bitcode)
    library._finalized = True
    return CompileResult(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=context.get_executable(library, description, environment),
        fndesc=description,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=reload,
        referenced_envs=others,
    )


REBUILDING[KIND] = rebuilt
