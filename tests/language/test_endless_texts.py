"""Texts of megabytes that can never be an expression are refused before they are parsed."""

from __future__ import annotations

import pytest

from tocsin.errors import ExpressionError
from tocsin.language import parse_any, tokens
from tocsin.language.dialects import tagged
from tocsin.model.expression import MAX_NODES

ENDLESS = {
    "% ": "values and operators", "a % ": "values and operators", "- ": "values and operators",
    "-- ": "values and operators", "/* ": "values and operators", "< ": "values and operators",
    "a > < ": "values and operators", "NOT ": "values and operators", "ä ": "values and operators",
    ", ": "expected", ") ": "expected", "a, ": "operator", "a) ": "before it", "( ": "nest more than 256 deep",
    "? ": "not understood", '"': "unclosed name",
}  # fmt: skip


@pytest.mark.parametrize("part", ENDLESS)
def test_few_tokens_of_an_endless_text_are_read(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    class Counted(tokens.Token):
        def __init__(self, *arguments: object) -> None:
            nonlocal made
            made += 1
            super().__init__(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tokens, "Token", Counted)
    with pytest.raises(ExpressionError, match=ENDLESS[part]) as error:
        parse_any(part * (1_000_001 // len(part)))
    assert made < 4 * MAX_NODES
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("signs", ["", "-", "+"])
def test_a_number_with_its_sign_is_one_value(signs: str) -> None:
    """So that the longest list of numbers may have signs."""
    count = MAX_NODES - 2
    parse_any(f"a IN ({', '.join([f'{signs}1'] * count)})")
    with pytest.raises(ExpressionError, match="values and operators"):
        parse_any(f"a IN ({', '.join([f'{signs}1'] * (MAX_NODES + 1))})")


@pytest.mark.parametrize("part", ["% ", "a % ", "( ", "a OR "])
def test_an_endless_rule_of_sql_is_refused_before_sqlglot_reads_it(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    monkeypatch.setattr(sqlglot, "tokenize", None)
    monkeypatch.setattr(sqlglot.exp, "condition", None)

    with pytest.raises(ExpressionError, match="values and operators"):
        parse_any(tagged(part * 500_000, "sql"))
    monkeypatch.undo()
    parse_any(tagged(f"a = '{'% ' * 500_000}'", "sql"))


@pytest.mark.parametrize("language", ["eventbridge", "sigma", "mongodb", "elasticsearch", "jsonlogic"])
def test_an_endless_rule_of_another_language_is_refused(language: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_any(tagged("% " * 500_000, language))
    assert len(str(error.value)) < 500
