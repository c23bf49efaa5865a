"""Nothing is compiled twice, or without need: what a first answer compiles where nothing is compiled yet."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tocsin.jit import decorators

MOST = 155
"""Functions that README's first example compiles, Numba's own included: 152, 13 CPU seconds; 292 once."""

OF_TWO_TYPES = {"sort_numbers", "first_at_least"}
"""What sorts or searches int32 in one place and int64 in another."""

RARE = {"box_part", "pattern_part", "array_set_part", "array_pair_part", "compare_part", "truth_part"}

SCRIPT = """
import json
import operator
from numba.core import event, types

compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        compiled.append((function.__module__, function.__qualname__))
    def on_end(self, event): pass
event.register("numba:compile", Listener())

mixed = []
from tocsin.jit.lowering.inference import Inference
infer = Inference.run_pass
def watched(self, state):
    done = infer(self, state)
    for expression, signature in (state.calltypes or {}).items():
        if getattr(expression, "op", "") in ("binop", "inplace_binop") and expression.fn is not operator.truediv:
            given = [types.unliteral(state.typemap[side.name]) for side in (expression.lhs, expression.rhs)]
            taken = (*signature.args, signature.return_type)
            is_mixed = any(isinstance(one, types.Float) for one in taken)
            if is_mixed and all(isinstance(one, types.Integer) for one in given):
                mixed.append((state.func_id.func_qualname, expression.loc.line))
    return done
Inference.run_pass = watched

import tocsin
plain = [{"id": "p", "where": "price <= 5 AND size > 2"}, {"id": "q", "where": "price < 3 OR size = 1"}]
tocsin.match(plain, [{"price": 4, "size": 3}])
print(json.dumps(compiled))
subscriptions = [
    {"id": "s1", "where": "model = 'iphone5s' AND color IN ('silver', 'gold') AND price <= 580"},
    {"id": "s2", "where": "S_INTERSECTS(location, BBOX(-74.3, 40.5, -73.7, 40.9)) AND A_CONTAINS(words, ('y', 'x'))"},
    {"id": "s3", "where": "price < 100 OR seller.rating IS NULL"},
]
tocsin.match(subscriptions, [{"model": "iphone5s", "price": 5}, {"location": [-74.0, 40.7], "words": ["x"]}])
print(json.dumps(compiled))
tocsin.match(subscriptions, b'{"price": 5}')
print(json.dumps(mixed))
"""


def test_only_straight_lines_are_pasted() -> None:
    """Numba was seen to go wrong with branches and loops."""
    branches = ast.For | ast.While | ast.If | ast.IfExp | ast.BoolOp
    for file in Path(decorators.__file__).parents[1].rglob("*.py"):
        for one in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(one, ast.FunctionDef) and any(ast.unparse(d) == "pasted" for d in one.decorator_list):
                parts = list(ast.walk(one))
                assert not any(isinstance(part, branches) for part in parts), f"{file.name}: {one.name}"
                assert sum(isinstance(part, ast.Return) for part in parts) == 1, f"{file.name}: {one.name}"


DECORATORS = {"kernel", "inner", "inlined", "part", "pasted"}
COSTLY = {"sort", "argsort", "partition", "median", "max", "min", "sum", "cumsum"}
"""Of NumPy: each is 4 to 60 functions of Numba to compile, once for each type."""


def test_kernels_use_nothing_of_numpy_that_is_many_functions() -> None:
    """Sorts are in `kernels/sorting.py`; a sum is a loop. To assign a slice or a row compiles 37 functions."""
    found = []
    for file in Path(decorators.__file__).parents[1].rglob("*.py"):
        for one in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(one, ast.FunctionDef) and DECORATORS & {ast.unparse(d) for d in one.decorator_list}:
                found += [f"{file.name}: {ast.unparse(part)}" for part in ast.walk(one) if _is_costly(part)]
    assert not found


def _is_costly(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return isinstance(part.func, ast.Attribute) and part.func.attr in COSTLY
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        is_slice = isinstance(part.value, ast.Subscript) and isinstance(part.value.slice, ast.Slice)
        return is_slice or isinstance(part.value, ast.Tuple)
    return False


@pytest.mark.slow("it types every kernel anew")
@pytest.mark.long
def test_a_first_answer_compiles_each_function_once_and_rare_ones_when_they_are_needed(tmp_path: Path) -> None:
    """With an empty cache: subscriptions of plain comparisons, then README's first example."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)

    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)

    plain, everything, mixed = (json.loads(line) for line in done.stdout.splitlines())
    assert not mixed, "of an int64 and a uint64 Numba makes a float64, which is slow, and wrong beyond 2**53"
    assert not RARE & {name for _, name in plain}
    assert {"box_part", "array_set_part"} <= {name for _, name in everything}
    assert not {"pattern_part", "compare_part", "truth_part"} & {name for _, name in everything}
    own = Counter((module, name) for module, name in everything if module.startswith("tocsin"))
    assert {name for (_, name), times in own.items() if times > 1} <= OF_TWO_TYPES
    assert len(everything) <= MOST
