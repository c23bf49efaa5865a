"""What may stand in TEXT? An attribute, words in single quotes, and perhaps how words are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from tocsin.errors import MissingExtra
from tocsin.language.keywords import text_problem
from tocsin.language.misplaced import Misplaced, describe, refuse_since
from tocsin.model.expression import Attribute, Constant, Expression

_AS_IN: Final = "as in TEXT(title, 'seafood paris')"
_PLACEHOLDER: Final = "\x00"


def require_text(arguments: Sequence[Expression]) -> None:
    """Raise `Misplaced` for arguments of TEXT that it cannot have."""
    if len(arguments) not in (2, 3):
        what = f"an attribute, words and perhaps how words are made, {_AS_IN}"
        raise Misplaced(f"TEXT takes two or three arguments ({what}), not {len(arguments)}")
    subject, *strings = arguments
    if not isinstance(subject, Attribute):
        raise Misplaced(f"TEXT looks at an attribute, and folds its case itself, not at {describe(subject)}", subject)
    for node in strings:
        if not (isinstance(node, Constant) and isinstance(node.value, str)):
            raise Misplaced(f"TEXT needs words in single quotes, {_AS_IN}, not {describe(node)}", node)
    values = [cast(str, cast(Constant, node).value) for node in strings]
    if values[-1].startswith(_PLACEHOLDER):
        return  # of a template, whose texts are looked at one by one
    try:
        problem = text_problem(*values)
    except MissingExtra as error:
        raise Misplaced(str(error), strings[-1], unsupported=True) from None
    if problem:
        refuse_since(problem, strings[0])
