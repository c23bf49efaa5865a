"""The built-in indexes for windows, each with its buffering policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tocsin.index.protocols import BEST_MESSAGES, PLACES_WITH_WORDS, Disseminator, Registration
from tocsin.index.window.blocks import BlocksIndex
from tocsin.index.window.buffering import SLACK, Buffering, first_in_first_out, k_max, k_skyband
from tocsin.index.window.pace import FIRST, LATE


class WindowIndex(NamedTuple):
    """A structure that finds the subscriptions a message reaches, and the policy of their buffers."""

    disseminator: Disseminator
    buffering: Buffering


def for_windows(
    name: str,
    source: str,
    structure: Callable[..., Disseminator],
    options: Mapping[str, int],
    policy: Callable[..., Buffering] = first_in_first_out,
    own: Mapping[str, int] | None = None,
    is_baseline: bool = False,
) -> Registration:
    """Register a structure with its `options` and a policy with its `own`.

    The builder takes the longest distance and all options.
    """
    own = {"slack": SLACK} if own is None else own

    def build(diagonal: float, **given: Any) -> WindowIndex:
        chosen = {option: given.pop(option) for option in own}
        return WindowIndex(structure(diagonal, **given), policy(**chosen))

    return Registration(name, BEST_MESSAGES, PLACES_WITH_WORDS, source, is_baseline, build, {**options, **own})


_BLOCKS: Final = {"late": LATE, "first": FIRST}

DISSEMINATORS: Final = (
    for_windows("blocks", "blocks of similar postings, in bytes (ours)", BlocksIndex, _BLOCKS),
    for_windows(
        "k_max",
        "blocks, with the best times * k buffered (Yi et al. 2003); times=1 searches anew whenever one expires",
        BlocksIndex,
        _BLOCKS,
        k_max,
        {"times": 2},
        is_baseline=True,
    ),
    for_windows(
        "k_skyband",
        "blocks, with k-skybands buffered (Mouratidis et al. 2006); modelled=1 by cost (Wang et al. 2016, section 6)",
        BlocksIndex,
        _BLOCKS,
        k_skyband,
        {"modelled": 1},
        is_baseline=True,
    ),
)
