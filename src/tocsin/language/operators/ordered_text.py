"""Texts with an order of their own, such as addresses. They are compared by *keys*, strings that have this order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tocsin.kernels import codes
from tocsin.language.canonical import constant_text, name_text
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.function_value import FunctionValue
from tocsin.language.operators.operands import Const, Operand
from tocsin.language.operators.operator import describe
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression


class OrderedText(FunctionValue):
    """A function of an attribute or a string, whose value is the key of the text; none if it has no key."""

    takes, reads = 1, (codes.STRING,)
    only_compared = "it can only be compared with a string or another such value"
    of_what = "an attribute or a string"
    name: ClassVar[str]
    kind: ClassVar[str]
    """What the texts are, in the user's words."""

    def key(self, text: str) -> str | None:
        """The key of a text; None if it is not of the kind."""
        raise NotImplementedError

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        (text,) = arguments
        if not isinstance(text, Attribute) and not (isinstance(text, Constant) and isinstance(text.value, str)):
            raise Misplaced(f"{name} needs an attribute or a string, not {describe(text)}", text)
        if isinstance(text, Constant) and (problem := self._problem(str(text.value))):
            raise Misplaced(problem, text)

    def _problem(self, text: str) -> str | None:
        if text.startswith(PLACEHOLDER) or self.key(text) is not None:
            return None
        return f"{constant_text(text[:60])} is not {self.kind}"

    def beside(self, node: Call, other: Expression) -> Expression:
        """The same function of a string; nothing but calls of it can be compared."""
        if isinstance(other, Call) and other.name == self.name:
            return other
        if isinstance(other, Constant) and isinstance(other.value, str):
            return self.call(self.name, (other,), span=other.span)
        of_attribute = f"{self.name}({name_text(other.name)})" if isinstance(other, Attribute) else "a string"
        raise Misplaced(f"{self.name} is compared with a string or with {self.name}: write {of_attribute}", other)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> str | None:
        return self.key(parts[0]) if isinstance(parts[0], str) else None

    def of_constant(self, name: str) -> Callable[[str], str]:
        return lambda text: self.key(text) or text

    def operand(self, node: Call) -> Operand:
        (text,) = node.arguments
        if not isinstance(text, Constant):
            return super().operand(node)
        key = self.key(str(text.value))
        return Const(str(text.value) if key is None else key)  # a placeholder stands for a key

    def has_recipe(self, node: Call) -> bool:
        """Not for a constant, which `columns.expressions.spelling` replaces by its key."""
        return isinstance(node.arguments[0], Attribute)

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]] | None:
        return None if isinstance(node.arguments[0], Attribute) else (self._problem, node.arguments)


PLACEHOLDER = "\x00"
"""The first character of a template's placeholder, which stands for any text; its texts are checked one by one."""
