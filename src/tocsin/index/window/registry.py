"""The built-in indexes for windows: structures that find subscriptions, and policies of their buffers.

Each structure goes with each policy. `k_max` and `k_skyband` are names for the default structure with one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from tocsin.errors import UnknownIndex
from tocsin.index.protocols import BEST_MESSAGES, PLACES_WITH_WORDS, Disseminator, Registration
from tocsin.index.window.blocks import BlocksIndex
from tocsin.index.window.buffering import SLACK, Buffering, first_in_first_out, k_max, k_skyband
from tocsin.index.window.pace import FIRST, LATE


class WindowIndex(NamedTuple):
    """A structure that finds the subscriptions a message reaches, and the policy of their buffers."""

    disseminator: Disseminator
    buffering: Buffering


class Policy(NamedTuple):
    """A policy of buffers, and its options with their defaults."""

    make: Callable[..., Buffering]
    options: Mapping[str, int]


POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "fifo": Policy(first_in_first_out, {"slack": SLACK}),
        "k_max": Policy(k_max, {"times": 2}),
        "skyband": Policy(partial(k_skyband, 0), {}),
        "cost_skyband": Policy(partial(k_skyband, 1), {}),
    }
)
"""The policies by name; the first is the default."""


def for_windows(
    name: str,
    source: str,
    structure: Callable[..., Disseminator],
    options: Mapping[str, int],
    policies: Mapping[str, Policy] = POLICIES,
    is_baseline: bool = False,
) -> Registration:
    """Register a structure with its `options` and the `policies` among which its option `policy` chooses.

    The builder takes the longest distance and the options that are given.
    """
    names = tuple(policies)
    buffering = {option: default for policy in policies.values() for option, default in policy.options.items()}

    def build(diagonal: float, *, policy: int = 0, **given: int) -> WindowIndex:
        chosen = policies[names[policy]]
        for option in sorted(given.keys() & buffering.keys() - chosen.options.keys()):
            allowed = ", ".join(chosen.options) or "none"
            raise UnknownIndex(f"{option} is not an option of policy={names[policy]}; its options are: {allowed}")
        own = {option: given.pop(option, default) for option, default in chosen.options.items()}
        return WindowIndex(structure(diagonal, **{**options, **given}), chosen.make(**own))

    words = {"policy": names} if len(names) > 1 else {}
    every = {**options, **dict.fromkeys(words, 0), **buffering}
    return Registration(name, BEST_MESSAGES, PLACES_WITH_WORDS, source, is_baseline, build, every, words=words)


_BLOCKS: Final = {"late": LATE, "first": FIRST}

DISSEMINATORS: Final = (
    for_windows("blocks", "blocks of similar postings, in bytes (ours)", BlocksIndex, _BLOCKS),
    for_windows(
        "k_max",
        "blocks, with the best times * k buffered (Yi et al. 2003); times=1 searches anew whenever one expires",
        BlocksIndex,
        _BLOCKS,
        {"k_max": POLICIES["k_max"]},
        is_baseline=True,
    ),
    for_windows(
        "k_skyband",
        "blocks, with k-skybands buffered (Mouratidis et al. 2006); modelled=1 by cost (Wang et al. 2016, section 6)",
        BlocksIndex,
        _BLOCKS,
        {"k_skyband": Policy(k_skyband, {"modelled": 1})},
        is_baseline=True,
    ),
)
