"""Parser of CQL2 text: tables by lark from `cql2.lark`, tokens by `tokens.py`, nodes by `rules.py`.

The parser is LALR(1): a loop over a stack, linear in the length of any text. Callbacks run as rules
complete, and no parse tree is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final, NoReturn, TypeAlias, cast

import lark
from lark.grammar import Rule
from lark.parse_tree_builder import ExpandSingleChild
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_parser import LALR_Parser

from tocsin.errors import ExpressionError, UnsupportedError
from tocsin.language import geometry_rules, rules
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators import arithmetic, array, comparison, logic, membership, pattern, temporal
from tocsin.language.operators.operator import FUNCTIONS, describe
from tocsin.language.syntax_errors import syntax_error
from tocsin.language.tokens import CONSTANT, Token, tokenize
from tocsin.model.expression import (
    MAX_DEPTH,
    ArithmeticOperator,
    Attribute,
    ComparisonOperator,
    Constant,
    Expression,
    Span,
)
from tocsin.model.values import class_of

_Reduction: TypeAlias = tuple[int, str, Callable[[list[Any]], Any] | None]
"""The number of items that become one, its name, and the callback that makes it; None leaves the single item."""

_END: Final = "$END"


def parse(text: str) -> Expression:
    """Parse CQL2 text.

    Parameters
    ----------
    text : str
        The expression. docs/language.md describes the language.

    Returns
    -------
    Expression
        The tree; `to_text` and `to_json` write it.

    Raises
    ------
    ExpressionError
        If the text is not an expression; the error has the line and the column.
    UnsupportedError
        If it uses a feature that this version does not evaluate.

    Examples
    --------
    >>> parse("price <= 580")
    Comparison(op='<=', left=Attribute(name='price'), right=Constant(value=580.0))

    Notes
    -----
    Cost: linear in the length of the text.
    """
    if not isinstance(text, str):
        raise ExpressionError(f"an expression is CQL2 text, not {class_of(text)}")
    try:
        root = rules.whole(cast(Expression, _parser().parse(text)))
    except lark.UnexpectedToken as error:
        # `from None`: lark's own message names terminals, which mean nothing to users.
        raise syntax_error(text, tokenize(text), error.token, error.accepts or ()) from None
    except Misplaced as error:
        _refuse(error, text)
    if len(text) > MAX_DEPTH:  # each level takes at least one character
        _check_size(root, text)
    return root


def _refuse(error: Misplaced, text: str) -> NoReturn:
    kind = UnsupportedError if error.unsupported else ExpressionError
    span = error.node.span if error.node is not None else None
    raise kind(error.reason, text, span.start if span else 0) from None


def _check_size(root: Expression, text: str) -> None:
    try:
        rules.check_size(root)
    except ExpressionError as error:
        raise ExpressionError(error.reason, text) from None


class _Words(lark.lexer.Lexer):
    """Passes tocsin's tokens to lark."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, data: str) -> Any:  # type: ignore[override]  # lark calls a custom lexer with the text alone
        return tokenize(data)


@cache
def _parser() -> lark.Lark:
    grammar = files("tocsin.language").joinpath("cql2.lark").read_text("utf-8")
    plugins = {"LALR_Parser": _Loop}
    return lark.Lark(grammar, parser="lalr", lexer=_Words, start="expression", transformer=_Nodes(), _plugins=plugins)


class _Loop(LALR_Parser):
    """Applies lark's tables 1.6 times as fast as lark's own loop, for grammars with one start and without empty rules.

    lark finds each step by objects that hash and compare in Python, and calls a function for each level of binding that
    an operand passes. Here steps are found by strings, and such a level only changes the state. lark words the errors.
    """

    def __init__(self, conf: Any, debug: bool = False, strict: bool = False) -> None:
        super().__init__(conf, debug, strict)
        table: Any = self._parse_table
        self._steps = {state: _steps(steps, conf.callbacks) for state, steps in table.states.items()}
        (self._start,) = table.start_states.values()
        for whole in table.end_states.values():
            self._steps[whole][_END] = whole

    def parse(self, lexer: Any, start: str, on_error: Any = None) -> Any:
        """What the tokens become. Raises `lark.UnexpectedToken` for one that does not fit, and what callbacks raise."""
        steps = self._steps
        states: list[int] = [self._start]
        items: list[Any] = []
        for token in chain(lexer.lex(None), (Token(_END, "", 0, 0),)):
            name = token.type
            while (step := steps[states[-1]].get(name)).__class__ is tuple:
                count, whole, make = step
                if make is None:
                    states[-1] = steps[states[-2]][whole]
                    continue
                items[-count:] = [make(items[-count:])]
                del states[-count:]
                states.append(steps[states[-1]][whole])
            if step is None:
                return super().parse(lexer, start, on_error)  # type: ignore[no-untyped-call]
            states.append(step)
            items.append(token)
        return items[0]


def _steps(steps: Mapping[str, tuple[Any, Any]], callbacks: Mapping[Any, Any]) -> dict[str, Any]:
    """What comes next in a state, by name of a token or a rule: another state, or a reduction."""
    return {str(name): to if action is Shift else _reduction(to, callbacks[to]) for name, (action, to) in steps.items()}


def _reduction(rule: Rule, make: Any) -> _Reduction:
    count = len(rule.expansion)
    if isinstance(make, ExpandSingleChild):
        make = None if count == 1 else make.node_builder
    return count, str(rule.origin.name), make


class _Grouped(Span):
    """The span of a node in parentheses."""

    __slots__ = ()


class _Listed:
    """Items between parentheses. They become an array if a function takes one."""

    __slots__ = ("items", "span")

    def __init__(self, items: list[Expression], span: Span) -> None:
        self.items = items
        self.span = span


def _span(node: Expression) -> Span:
    return cast(Span, node.span)


def _over(first: Expression, last: Expression) -> Span:
    return Span(_span(first).start, _span(last).end)


class _Nodes(lark.Transformer[Token, Expression]):
    """One callback for each rule of the grammar; `c` holds its children, tokens and nodes, by position."""

    # ---- conditions

    @staticmethod
    def any_of(c: list[Any]) -> Expression:
        return logic.any_of(c[::2], span=_over(c[0], c[-1]))

    @staticmethod
    def all_of(c: list[Any]) -> Expression:
        return logic.all_of(c[::2], span=_over(c[0], c[-1]))

    @staticmethod
    def negated(c: list[Any]) -> Expression:
        return logic.negated(c[1], span=Span(c[0].start_pos, _span(c[1]).end))

    @staticmethod
    def group(c: list[Any]) -> Expression:
        # Nothing else refers to the node before the parse ends, so its span may still grow to the parentheses.
        object.__setattr__(c[1], "span", _Grouped(c[0].start_pos, c[2].end_pos))
        return cast(Expression, c[1])

    # ---- predicates

    @staticmethod
    def comparison(c: list[Any]) -> Expression:
        return comparison.comparison(cast(ComparisonOperator, c[1].value), c[0], c[2], span=_over(c[0], c[2]))

    @staticmethod
    def within(c: list[Any]) -> Expression:
        return membership.within(c[0], c[3], span=Span(_span(c[0]).start, c[4].end_pos))

    @staticmethod
    def not_within(c: list[Any]) -> Expression:
        return _opposite(_Nodes.within([c[0], *c[2:]]))

    @staticmethod
    def between(c: list[Any]) -> Expression:
        return membership.between(c[0], c[2], c[4], span=_over(c[0], c[4]))

    @staticmethod
    def not_between(c: list[Any]) -> Expression:
        return _opposite(_Nodes.between([c[0], *c[2:]]))

    @staticmethod
    def like(c: list[Any]) -> Expression:
        return pattern.like(c[0], c[2], span=_over(c[0], c[2]))

    @staticmethod
    def not_like(c: list[Any]) -> Expression:
        return _opposite(_Nodes.like([c[0], *c[2:]]))

    @staticmethod
    def is_null(c: list[Any]) -> Expression:
        return comparison.is_null(c[0], span=Span(_span(c[0]).start, c[-1].end_pos))

    @staticmethod
    def is_not_null(c: list[Any]) -> Expression:
        return _opposite(_Nodes.is_null(c))

    @staticmethod
    def listed(c: list[Any]) -> list[Expression]:
        return c[::2]

    @staticmethod
    def constants(c: list[Any]) -> list[Expression]:
        text, start = c[0].value, c[0].start_pos
        found = ((one[0], Span(start + one.start(), start + one.end())) for one in CONSTANT.finditer(text))
        return [_string(written, span) if written[0] == "'" else _number(written, span) for written, span in found]

    # ---- scalars

    @staticmethod
    def arithmetic(c: list[Any]) -> Expression:
        op = cast(ArithmeticOperator, c[1].value.upper())
        return arithmetic.arithmetic(op, c[0], c[2], span=_over(c[0], c[2]))

    @staticmethod
    def minus(c: list[Any]) -> Expression:
        sign = c[0]
        minus_one = Constant(-1.0, span=Span(sign.start_pos, sign.end_pos))
        return arithmetic.arithmetic("*", minus_one, c[1], span=Span(sign.start_pos, _span(c[1]).end))

    @staticmethod
    def number(c: list[Any]) -> Expression:
        return _number(c[0].value, Span(c[0].start_pos, c[0].end_pos))

    @staticmethod
    def signed_number(c: list[Any]) -> Expression:
        sign, digits = c
        if digits.value[0] in "+-":
            here = Constant(False, span=Span(sign.start_pos, digits.end_pos))
            raise Misplaced("a number has at most one sign", here)
        return _number(sign.value + digits.value, Span(sign.start_pos, digits.end_pos))

    @staticmethod
    def string(c: list[Any]) -> Expression:
        return _string(c[0].value, Span(c[0].start_pos, c[0].end_pos))

    @staticmethod
    def true(c: list[Any]) -> Expression:
        return Constant(True, span=Span(c[0].start_pos, c[0].end_pos))

    @staticmethod
    def false(c: list[Any]) -> Expression:
        return Constant(False, span=Span(c[0].start_pos, c[0].end_pos))

    @staticmethod
    def attribute(c: list[Any]) -> Expression:
        token = c[0]
        return Attribute(token.value, span=Span(token.start_pos, token.end_pos))

    @staticmethod
    def quoted_attribute(c: list[Any]) -> Expression:
        token = c[0]
        return rules.placed(
            rules.attribute, token.value[1:-1].replace('""', '"'), span=Span(token.start_pos, token.end_pos)
        )

    @staticmethod
    def shape(c: list[Any]) -> Expression:
        token = c[0]
        return rules.placed(geometry_rules.shape, token.value, span=Span(token.start_pos, token.end_pos))

    # ---- functions

    @staticmethod
    def point(c: list[Any]) -> Expression:
        values = [coordinate.value for coordinate in c[2:-1]]
        return rules.placed(geometry_rules.point, values, span=Span(c[0].start_pos, c[-1].end_pos))

    @staticmethod
    def empty_array(c: list[Any]) -> _Listed:
        return _Listed([], Span(c[0].start_pos, c[1].end_pos))

    @staticmethod
    def array(c: list[Any]) -> _Listed:
        return _Listed(c[1:-1:2], Span(c[0].start_pos, c[-1].end_pos))

    @staticmethod
    def call(c: list[Any]) -> Expression:
        name = c[0].value.upper()
        arguments = c[2] if len(c) == 4 else []
        span = Span(c[0].start_pos, c[-1].end_pos)
        nodes = [_resolve(name, a) if isinstance(a, _Listed) else a for a in arguments]
        literal = _LITERALS.get(name)
        if literal:
            return literal(nodes, span)
        return rules.placed(rules.call, name, nodes, span=span)


def _opposite(node: Expression) -> Expression:
    return logic.negated(node, span=node.span)


def _string(written: str, span: Span) -> Expression:
    return Constant(written[1:-1].replace("''", "'"), span=span)


def _number(written: str, span: Span) -> Expression:
    try:
        return rules.number(float(written), written, written.lstrip("+-").isdigit(), span=span)
    except Misplaced as error:
        error.node = Constant(False, span=span)
        raise


def _resolve(name: str, listed: _Listed) -> Expression:
    """Make the argument of a function from items between parentheses: an array if it takes one, else a group."""
    if name in FUNCTIONS and FUNCTIONS[name].takes_arrays:
        for item in listed.items:
            if isinstance(item, Constant | Attribute) and isinstance(item.span, _Grouped):
                reason = array.NO_LISTS_IN_LISTS.format("an array inside an array")
                raise Misplaced(reason, item, unsupported=True)
        return array.array(listed.items, span=listed.span)
    here = Constant(False, span=listed.span)
    if len(listed.items) != 1:
        raise Misplaced(f"{name} takes no array", here)
    return listed.items[0]


def _only_string(example: str, nodes: list[Expression], span: Span) -> str:
    if len(nodes) == 1 and isinstance(nodes[0], Constant) and isinstance(nodes[0].value, str):
        return nodes[0].value
    raise Misplaced(f"write {example}", nodes[0] if nodes else Constant(False, span=span))


def _box(nodes: list[Expression], span: Span) -> Expression:
    values = []
    for node in nodes:
        if not (isinstance(node, Constant) and isinstance(node.value, float)):
            raise Misplaced(f"BBOX takes four numbers, not {describe(node)}", node)
        values.append(node.value)
    return rules.placed(geometry_rules.box, values, span=span)


_LITERALS: Final[Mapping[str, Callable[[list[Expression], Span], Expression]]] = {
    "INTERVAL": lambda nodes, span: rules.placed(temporal.interval, nodes, span=span),
    "DATE": lambda nodes, span: rules.placed(rules.date, _only_string("DATE('2024-05-31')", nodes, span), span=span),
    "TIMESTAMP": lambda nodes, span: rules.placed(
        rules.timestamp, _only_string("TIMESTAMP('2024-05-31T08:15:00Z')", nodes, span), span=span
    ),
    "BBOX": _box,
}
