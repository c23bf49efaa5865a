"""What conditions on places ask is told from the heads of their names."""

from __future__ import annotations

import pytest

import tocsin
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.places.forms import CIRCLES, PAIRS, SHAPES, Forms, begin_of

AREA = "POLYGON((0 0, 1 0, 1 1, 0 0))"


def names_of(*texts: str) -> list[str]:
    """The names of the conditions on places in some expressions."""
    compiled = [compile_expressions([tocsin.parse(text)]).attributes for text in texts]
    return [next(name for name in names if "placed" in name) for names in compiled]


def test_each_kind_of_condition_is_told() -> None:
    """Shapes, circles and pairs, asked for as TRUE alone or as FALSE, too."""
    names = names_of(
        f"S_INTERSECTS(p, {AREA})",
        f"NOT S_WITHIN(p, {AREA})",
        "S_TOUCHES(p, BBOX(0, 0, 1, 1))",
        "DISTANCE_M(p, POINT(1 2)) < 5",
        "NOT DISTANCE_M(p, POINT(1 2)) <= 5",
        "S_WITHIN(p, q)",
        'S_WITHIN(p, "q (r)")',
        "S_WITHIN(p, POINT(1 2))",
    )

    forms = Forms.of(names)

    assert forms.about.tolist() == [SHAPES, SHAPES, SHAPES, CIRCLES, CIRCLES, PAIRS, PAIRS, SHAPES]
    assert forms.says_false.tolist() == [False, True, False, False, True, False, False, False]
    assert [forms.functions[form] for form in forms.numbers.tolist()] == [
        "S_INTERSECTS", "S_WITHIN", "S_TOUCHES", "DISTANCE_M", "DISTANCE_M", "S_WITHIN", "S_WITHIN", "S_WITHIN",
    ]  # fmt: skip
    assert len(forms.functions) == 6


@pytest.mark.parametrize("attribute", ["(place, ", "S_WITHIN(place, x)", "a (b)", "\x00p", 'q"'])
def test_an_attribute_may_look_like_a_condition(attribute: str) -> None:
    """What stands before the kind of the reading is the attribute's."""
    quoted = '"' + attribute.replace('"', '""') + '"'
    (name,) = names_of(f"S_CONTAINS({quoted}, {AREA})")

    forms = Forms.of([name])

    assert forms.functions == ["S_CONTAINS"]
    assert forms.about.tolist() == [SHAPES]
    assert name[begin_of(name) :].startswith("POLYGON")


@pytest.mark.parametrize("name", ["p", "p\x00placed\x00S_WITHIN(place", "p\x00placed\x00", "(place, x)"])
def test_what_is_no_condition_is_refused(name: str) -> None:
    """Names are texts in a file."""
    with pytest.raises(tocsin.SegmentError, match="changed on disk"):
        Forms.of([name])
