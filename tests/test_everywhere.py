"""What must hold on every Python and with every version of NumPy and Numba that tocsin allows.

`make pythons` runs this file alone, in an environment for each further Python of the machine.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.contract.test_matchers import assert_each_answers_like_the_oracle
from tests.sizes import sized

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_of_the_readme() -> None:
    """The README's first example gives what its comments show."""
    block = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert block is not None
    shown = [line.removeprefix("# ") for line in block[1].splitlines() if line.startswith("# ")]
    names: dict[str, object] = {}
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(block[1], names)

    assert names["answer"].table.to_pylist() == ast.literal_eval(shown[0])  # type: ignore[attr-defined]
    assert printed.getvalue().splitlines() == shown[1:]


@settings(max_examples=sized(60, 200))
@given(
    expressions=st.lists(own.expressions(max_depth=4), min_size=1, max_size=8),
    events=st.lists(own.python_events(), min_size=1, max_size=8),
)
def test_access_and_scan_answer_like_the_oracle(expressions: list, events: list) -> None:
    """The default index, and the one that looks at everything, find what the oracle finds."""
    assert_each_answers_like_the_oracle(("access", "scan"), expressions, events)


def test_the_indexes_of_papers_are_found_where_tocsin_is_installed() -> None:
    """By what the installed package says of itself."""
    answer = tocsin.match([{"id": "a", "where": "n = 1"}], [{"n": 1}, {"n": 2}], index="opindex")

    assert answer.table.to_pylist() == [{"event": 0, "subscription": "a"}]
