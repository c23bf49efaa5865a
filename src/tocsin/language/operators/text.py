"""TEXT: the words and phrases of a text. `keywords.py` makes words and parses queries."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from tocsin.errors import MissingExtra
from tocsin.language.canonical import constant_text, name_text
from tocsin.language.keywords import (
    TEXT,
    asked_by,
    has_phrase,
    lines_of,
    settings_of,
    text_in,
    text_meant,
    text_problem,
    text_truth,
)
from tocsin.language.misplaced import Misplaced, refuse_since
from tocsin.language.needs import listed
from tocsin.language.operators.operator import Function, describe
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression, fold
from tocsin.model.texts import Text

_AS_IN: Final = "as in TEXT(title, 'seafood paris')"
_PLACEHOLDER: Final = "\x00"
_SYMBOLS: Final = ("So", "Sm", "Sc", "Sk")


class Keywords(Function):
    names, takes = (TEXT,), None
    advised_by = "TEXT"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if len(arguments) not in (2, 3):
            what = f"an attribute, words and perhaps how words are made, {_AS_IN}"
            raise Misplaced(f"TEXT takes two or three arguments ({what}), not {len(arguments)}")
        text, *strings = arguments
        if not isinstance(text, Attribute):
            raise Misplaced(f"TEXT needs an attribute, whose case it folds itself, not {describe(text)}", text)
        for node in strings:
            if not (isinstance(node, Constant) and isinstance(node.value, str)):
                raise Misplaced(f"TEXT needs words in single quotes, {_AS_IN}, not {describe(node)}", node)
        values = [cast(str, cast(Constant, node).value) for node in strings]
        if values[-1].startswith(_PLACEHOLDER):
            return  # a template's placeholder; its texts are checked one by one
        try:
            problem = text_problem(*values)
        except MissingExtra as error:
            raise Misplaced(str(error), strings[-1], unsupported=True) from None
        if problem:
            refuse_since(problem, strings[0])

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        return text_truth(text_in(node, values), *parts[1:])

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        """The missing words or, if there are none, the missing phrases."""
        asked, name = asked_by(node), name_text(cast(Attribute, node.arguments[0]).name)
        came = text_in(node, values)
        lines = lines_of(came, settings_of(node))
        if not wanted:
            of_several = "at least one of " if len(asked.words) > 1 else ""
            return f"{name} present, without {of_several}{listed([*asked.words])}"
        if lines is None:
            return f"{name if came is None else 'a text'} with {listed([*asked.words])}"
        missing = [word for word in asked.words if not any(word in line for line in lines)]
        phrases = [" ".join(phrase) for phrase in asked.phrases if not any(has_phrase(line, phrase) for line in lines)]
        return f"{name} with {listed(missing)} too" if missing else f"{name} with {listed(phrases)} side by side"

    def advice(self, node: Call, text: str) -> str:
        """Signs that are not part of any word, and Korean, where particles are part of words."""
        query = cast(str, cast(Constant, node.arguments[1]).value)
        dropped = [one for one in query if unicodedata.category(one) in _SYMBOLS or one in "&#@*%/\\"]
        if dropped:
            return f"{constant_text(''.join(dict.fromkeys(dropped)))} is not part of a word, so TEXT ignores it"
        if any("\uac00" <= one <= "\ud7a3" for one in query):
            return "a Korean word with a particle is another word; LIKE finds words within others"
        return ""

    def meant(self, node: Call) -> Expression:
        return text_meant(node)

    def has_recipe(self, node: Call) -> bool:
        return False

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return text_problem, node.arguments[1:]


def settled(tree: Expression, texts: Mapping[str, Text], prefix: str = "") -> Expression:
    """Write the settings of the schema into each TEXT that has none.

    So a subscription keeps its meaning wherever it is taken: into a folder, to Spark, to another engine. `prefix` is
    the path of the attributes, for those of a list's elements.

    >>> from tocsin.language import parse, to_text
    >>> to_text(settled(parse("a = 1 OR TEXT(title, 'cafés')"), {"title": Text(keep_accents=True)}))
    "a = 1 OR TEXT(title, 'cafés', 'keep_accents')"
    """

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if inner := node.inner():
            within = f"{prefix}{cast(Attribute, parts[0]).name}."
            return node.with_inner([settled(one, texts, within) for one in inner])
        if isinstance(node, Call) and node.name == TEXT and len(parts) == 2:
            how = texts.get(prefix + cast(Attribute, parts[0]).name)
            return node if how is None else Call(TEXT, (*parts, Constant(str(how))))
        return node.with_children(parts)

    return fold(tree, combine)
