"""B5 by policy: the cost of a whole push for each buffer policy, and for the systems that the Skype paper compares.

There is a window for each policy, full of the same messages; they then take the same batches in turns. Savings of a
policy show late, because a freshly chosen threshold favours policies that search rarely. So four windows of messages
pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import tocsin
from benchmarks.rows import Row
from benchmarks.window_workload import BOUNDS, WindowLoad

_BATCH: Final = 4096
_WINDOWS: Final = 4
_POLICIES: Final = {
    "k_max": "2k messages, then down to k",
    "k_skyband(modelled=0)": "the k-skyband",
    "k_skyband": "the k-skyband of the rank that costs least",
    "blocks": "slack 3",
    "skype(policy=cost_skyband)": "Skype as its paper has it",
    "skype(policy=skyband)": "Skype with the plain k-skyband",
    "ciq(policy=k_max)": "CIQ with kmax, to which the paper compares",
    "ciq(policy=skyband)": "CIQ with the plain k-skyband",
    "skype": "Skype, slack 3",
}


def rows(subscriptions: int, size: int) -> Iterator[Row]:
    """CPU time and searches per message, over all batches."""
    load = WindowLoad()
    windows = {}
    for policy in _POLICIES:
        window = windows[policy] = tocsin.Window(size, bounds=BOUNDS, index=policy)
        for first in range(0, size, _BATCH):
            window.push_batch(load.messages(min(_BATCH, size - first), first), changes=False)
        window.subscribe_many(load.subscriptions(subscriptions))
    searched = {policy: window.stats.reevaluations for policy, window in windows.items()}
    spent = dict.fromkeys(windows, 0.0)
    batches = max(_WINDOWS * size // _BATCH, 1)
    for number in range(batches):
        messages = load.messages(_BATCH, 10**6 + number)
        for policy, window in windows.items():
            began = time.process_time()
            window.push_batch(messages)
            spent[policy] += time.process_time() - began
    messages_pushed = batches * _BATCH
    for policy, window in windows.items():
        searches = (window.stats.reevaluations - searched[policy]) / messages_pushed
        told = f"{_POLICIES[policy]}; {searches:.3f} searches"
        name = f"{subscriptions:,} subscriptions, {size:,} messages"
        yield Row(policy, name, "a message", 1e6 * spent[policy] / messages_pushed, "us", told)
