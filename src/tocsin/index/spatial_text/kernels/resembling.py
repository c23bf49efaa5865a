"""Similarity of messages to subscriptions.

`find_alike` is one interface for every structure; each registers its own kernel beside its layout. It may return more
candidates than necessary. Which of these are similar enough, and how similar, is computed here, as in section 6 of Yu
et al. 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, Coming
from tocsin.index.filtering.kernels.matching import register_tables
from tocsin.index.spatial_text.kernels.layouts import Keywords, Message, Regions, Seen
from tocsin.index.spatial_text.kernels.reading import forget_message, has_token, message_at, read_message
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import choose, viewed


class Weighed(NamedTuple):
    """Weights of tokens and subscriptions. O tokens, S subscriptions."""

    weights: NDArray[np.float64]  # (O,) of a token
    totals: NDArray[np.float64]  # (S,) of a subscription's tokens, summed in ascending order
    areas: NDArray[np.float64]  # (S,) of its region


class Similarity(NamedTuple):
    """The request of a ranking, and the subscriptions."""

    alpha: float
    threshold: float
    near: float  # least sufficient share of the keywords' weight if region and message touch
    far: float  # the same if they do not
    keywords: Keywords
    regions: Regions
    weighed: Weighed


def find_alike(
    structure: Any,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """Write candidate subscriptions of a place to `seen.hits` from `found` on, each once; returns the end.

    They include all that reach the threshold. If the message has no box at the place, its box is NaN.
    """
    raise NotImplementedError("for kernels")


def register_alike(layout: type, found: Callable[..., int]) -> None:
    """Register a structure's kernel, which implements `find_alike` for its layout."""
    choose(find_alike, layout, found)


@kernel
def weigh(regions: Regions, weights: NDArray[np.float64]) -> Weighed:
    """The weight and area of each subscription."""
    held = viewed(regions)
    count = len(held.owners)
    out = Weighed(weights, np.zeros(count), np.zeros(count))
    for one in range(count):
        for i in range(held.token_starts[one], held.token_starts[one + 1]):
            out.totals[one] += weights[held.tokens[i]]
        width = _width(held.boxes[one, LEFT], held.boxes[one, RIGHT])
        out.areas[one] = width * (held.boxes[one, UPPER] - held.boxes[one, LOWER])
    return out


@inner
def _find_enough(asked: Similarity, structure: Any, seen: Seen, tokens: int) -> int:
    """`find_everywhere`: search all places, even without a box of the message, and keep what reaches the threshold."""
    found = np.int64(0)
    for place in range(len(seen.has)):
        message = message_at(seen, np.int64(place), tokens)
        if message.left > message.right:  # across the antimeridian
            found = _all_of(asked.regions, place, seen, found)
        else:
            found = find_alike(structure, asked, np.int64(place), message, seen, found)
    seen.examined[0] = found
    return _keep_alike(asked, seen, found, tokens)


@inlined
def _all_of(regions: Regions, place: int, seen: Seen, found: int) -> int:
    """Write all subscriptions of a place to `seen.hits`; returns the end."""
    for one in range(len(regions.owners)):
        if regions.owners[one] == place:
            seen.hits[found] = np.int32(one)
            found += 1
    return np.int64(found)


@inlined
def _keep_alike(asked: Similarity, seen: Seen, found: int, tokens: int) -> int:
    """Keep the candidates in `seen.hits` that reach the threshold; returns how many."""
    hits = seen.hits
    kept = np.int64(0)
    for i in range(found):
        one = np.int64(hits[i])
        message = message_at(seen, np.int64(asked.regions.owners[one]), tokens)
        if score_of(asked, one, message, seen) >= asked.threshold:
            hits[kept] = np.int32(one)
            kept += 1
    return kept


@kernel
def score_found(
    asked: Similarity,
    coming: Coming,
    memory: Seen,
    starts: NDArray[np.int64],
    found: NDArray[np.int32],
) -> NDArray[np.float64]:
    """The similarity of each event to the subscriptions that it found."""
    what, given, seen = viewed(asked), viewed(coming), viewed(memory)
    scores = np.empty(len(found))
    for event in range(len(starts) - 1):
        if starts[event] == starts[event + 1]:
            continue
        tokens = read_message(what, given, event, seen)
        for i in range(starts[event], starts[event + 1]):
            one = np.int64(found[i])
            message = message_at(seen, np.int64(what.regions.owners[one]), tokens)
            scores[i] = score_of(what, one, message, seen)
        forget_message(what, seen, tokens)
    return scores


@inlined
def score_of(asked: Similarity, one: int, message: Message, seen: Seen) -> float:
    """The similarity of a message to a subscription."""
    spatial = spatial_share(asked, one, message)
    return asked.alpha * spatial + (1.0 - asked.alpha) * _textual_share(asked, one, seen)


@inlined
def _textual_share(asked: Similarity, one: int, seen: Seen) -> float:
    """The share of a subscription's keyword weight that a message has; 0 if the total overflows float64."""
    regions, weights = asked.regions, asked.weighed.weights
    common, total = 0.0, asked.weighed.totals[one]
    for i in range(regions.token_starts[one], regions.token_starts[one + 1]):
        if has_token(seen, regions.tokens[i]):
            common += weights[regions.tokens[i]]
    return common / total if total < np.inf else 0.0


@inlined
def spatial_share(asked: Similarity, one: int, message: Message) -> float:
    """The share of a subscription's region that a message covers; 1 or 0 if one of them has no area.

    Both sides of a box across the antimeridian count together.
    """
    if not message.lower <= message.upper:
        return 0.0  # it has no box
    boxes = asked.regions.boxes
    left, right = boxes[one, LEFT], boxes[one, RIGHT]
    height = min(boxes[one, UPPER], message.upper) - max(boxes[one, LOWER], message.lower)
    if left <= right and message.left <= message.right:
        width = min(right, message.right) - max(left, message.left)
    else:
        width = _common_width(left, right, message.left, message.right)
    if not (height >= 0.0 and width >= 0.0):
        return 0.0
    own, area = asked.weighed.areas[one], _width(message.left, message.right) * (message.upper - message.lower)
    if not (own > 0.0 and area > 0.0):
        return 1.0
    return width * height / own if own < np.inf else 0.0


@inlined
def _width(left: float, right: float) -> float:
    """The width of a box, on both sides of the antimeridian if it crosses it."""
    return right - left if left <= right else (180.0 - left) + (right + 180.0)


@inlined
def _common_width(left: float, right: float, other_left: float, other_right: float) -> float:
    """The common width of two boxes, on both sides of the antimeridian; below 0 if they do not meet."""
    width = -1.0
    for side in range(2):
        first, last = (left, right) if left <= right else ((left, 180.0) if side == 0 else (-180.0, right))
        for other_side in range(2):
            start, stop = other_left, other_right
            if other_left > other_right:
                start, stop = (other_left, 180.0) if other_side == 0 else (-180.0, other_right)
            common = min(last, stop) - max(first, start)
            is_again = (side == 1 and left <= right) or (other_side == 1 and other_left <= other_right)
            if common >= 0.0 and not is_again:
                width = max(width, 0.0) + common
    return width


register_tables(Similarity, read_message, forget_message, _find_enough)


class Everyone(NamedTuple):
    """The subscriptions of each place. P places, M members."""

    starts: NDArray[np.int64]  # (P + 1,)
    members: NDArray[np.int32]  # (M,)


@inner
def find_everyone(
    everyone: Everyone,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """`find_alike`: all subscriptions of the place."""
    members, hits, stop = everyone.members, seen.hits, np.int64(found)
    for i in range(everyone.starts[place], everyone.starts[place + 1]):
        hits[stop] = members[i]
        stop += 1
    return stop


register_alike(Everyone, find_everyone)
