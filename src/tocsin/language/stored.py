"""Reader of the texts that an index stores for a subscription. A text changed on disk raises `SegmentError`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tocsin.errors import ExpressionError, SegmentError
from tocsin.language.misplaced import as_stored
from tocsin.model.expression import Expression

if TYPE_CHECKING:
    from tocsin.language.dialects.table import Read


def stored_expression(text: str) -> Expression:
    """Parse a stored expression; raises `SegmentError` if the text is not an expression any more."""
    return stored_rule(text).tree


def stored_rule(text: str) -> Read:
    """Parse a stored expression, and tell how its rule writes the conditions; raises `SegmentError` as above."""
    from tocsin.language.dialects import read_any

    try:
        with as_stored():
            return read_any(text)
    except ExpressionError as error:
        raise _changed("expression", text, error.reason) from None


def stored_payload(text: str) -> Any:
    """Parse a stored payload; raises `SegmentError` if the text is not JSON any more."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _changed("payload", text, str(error)) from None


def stored_weights(text: str) -> Mapping[str, float]:
    """Parse stored weights; raises `SegmentError` if the text does not map names to finite numbers any more."""
    try:
        weights: Mapping[str, float] = json.loads(text)
        is_sound = isinstance(weights, dict) and all(math.isfinite(weight) for weight in weights.values())
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _changed("weights", text, str(error)) from None
    if not is_sound:
        raise _changed("weights", text, "it is not an object of finite numbers")
    return weights


def _changed(what: str, text: str, reason: str) -> SegmentError:
    return SegmentError(f"the {what} of a subscription was changed on disk: {text!r:.80}: {reason}. Compile it again.")
