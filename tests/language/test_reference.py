"""The reference page says what is true."""

from __future__ import annotations

import re
from pathlib import Path

from tocsin.language import evaluate, explain, parse

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text("utf-8")


def test_every_example_of_the_reference_is_read() -> None:
    """Each line of a block of expressions in docs/language.md parses."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line]

    assert len(lines) >= 12
    for line in lines:
        parse(line)


def test_the_worked_sums_of_the_reference_hold() -> None:
    """The examples of arithmetic that state a result are TRUE."""
    for text in ("-7 DIV 2 = -3", "-7 % 2 = -1", "2 ^ 3 ^ 2 = 512"):
        assert f"`{text}`" in PAGE
        assert evaluate(parse(text), {}) is True


def test_the_explanation_of_the_reference_is_ours() -> None:
    """The explanation shown in docs/language.md is what explain() says."""
    tree = parse("model = 'iphone5s' AND color IN ('silver', 'gold') AND price <= 580")

    assert str(explain(tree, {"model": "iphone5s", "color": "red", "price": "600"})) in PAGE
