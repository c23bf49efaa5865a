"""Numba's pipelines for kernels."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import (
    DumpParforDiagnostics,
    NativeLowering,
    NoPythonBackend,
    NopythonRewrites,
    NopythonTypeInference,
)
from numba.core.untyped_passes import LiteralUnroll, WithLifting

from tocsin.jit.compiling.stores import CHECKED
from tocsin.jit.lowering.counting import counts
from tocsin.jit.lowering.handing import HandTables
from tocsin.jit.lowering.inference import Inference
from tocsin.jit.lowering.items import LowerItems
from tocsin.jit.lowering.libraries import Linked, WayIn

_WITHOUT: Final = {WithLifting, LiteralUnroll, NopythonRewrites, DumpParforDiagnostics}
"""Passes for what kernels do not have: `with`, loops over tuples of several types, arithmetic of whole arrays."""


class _Settled(Flags):  # type: ignore[misc]
    """Flags that do not change, with their hash."""

    __slots__ = ("_hash",)

    def __init__(self, flags: Flags) -> None:
        super().__init__(flags)
        self._hash = Flags.__hash__(self)

    def __hash__(self) -> int:
        return self._hash

    def copy(self) -> Flags:
        return Flags(self)


def _inherited() -> _Settled:
    flags = Flags()
    flags.nrt = True
    flags.error_model = "numpy"
    flags.boundscheck = CHECKED
    return _Settled(flags)


_INHERITED: Final = _inherited()
"""What Numba's own functions take over from a kernel that calls them: the same from all, so that each is compiled once.

Otherwise they and `inner` functions were inlined or not, depending on which caller came first.
"""


class LinkedPipeline(CompilerBase):  # type: ignore[misc]
    """Compiles what only kernels contain."""

    library: ClassVar[Any] = Linked

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("tocsin")
        changed = {NopythonTypeInference: Inference, NativeLowering: _Lowering, NoPythonBackend: _Backend}
        for one, words in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if one is NopythonTypeInference and not self.state.flags.no_cpython_wrapper:
                passes.add_pass(HandTables, "hand tables")
            if one not in _WITHOUT:
                passes.add_pass(changed.get(one, one), words)
        passes.finalize()
        return [passes]

    def _compile_core(self) -> Any:
        """Like Numba's, for one pipeline."""
        self.state.library_kind, self.state.given = self.library, self.state.args
        with ConfigStack().enter(_INHERITED):
            (passes,) = self.define_pipelines()
            passes.run(self.state)
        self.state.pipeline = None
        return self.state.cr


class Pipeline(LinkedPipeline):
    """Compiles what Python or an address leads to."""

    library: ClassVar[Any] = WayIn


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    _name = "tocsin_lowering"

    @property
    def lowering_class(self) -> type[LowerItems]:
        return LowerItems

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = state.library_kind(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        target = state.targetctx
        state.targetctx = target.subtarget(enable_nrt=counts(state))
        super().run_pass(state)
        state.targetctx = target
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Backend(NoPythonBackend):  # type: ignore[misc]
    _name = "tocsin_backend"

    def run_pass(self, state: Any) -> bool:
        """Numba's, and set the environments of all functions that a way in contains."""
        state.args = state.given
        super().run_pass(state)
        if state.library_kind is WayIn:
            for environment in state.cr._find_referenced_environments():
                state.library.codegen.set_env(environment.env_name, environment)
        return True
