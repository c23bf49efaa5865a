"""The cost of 100,000 patterns: prefixes, suffixes, substrings and regular expressions on one attribute."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.calibration import median_seconds, wall_seconds
from benchmarks.rows import Row
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.engine.loading import build_from
from tocsin.index import choose

_SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "so", "ti", "ve", "xu", "pha", "tron", "ster", "ling", "gor", "dan"]
_SHAPES = (
    "name LIKE '{word}%'",
    "name LIKE '%{word}'",
    "name LIKE '%{word}%'",
    "MATCHES(name, '{word}[0-9]+$')",
)
_SCAN_SHARE = 64


def rows(subscriptions: int, events: int) -> Iterator[Row]:
    """Measure `access` and `scan`, with a tenth of the usual number of subscriptions."""
    random_ = random.Random(1)
    count = subscriptions // 10
    shapes = [(f"p{n}", _SHAPES[n % len(_SHAPES)].format(word=_word(random_, 3))) for n in range(count)]
    source = [{"id": name, "where": text} for name, text in shapes]
    given = [{"name": _word(random_, 6) + str(random_.randint(0, 99))} for _ in range(events)]
    for index, share in (("access", 1), ("scan", _SCAN_SHARE)):
        build_from(source[:100], choose(index))  # compiles the kernels
        made = []
        seconds = wall_seconds(lambda made=made, index=index: made.append(build_from(source, choose(index))[0]))
        matcher = made[0].matcher
        yield Row(index, "patterns", "parse and build", seconds, "s", f"{count:,} subscriptions")
        for size in (events, 450):
            few = given[: max(size // share, 8)]
            batch = encode_objects(enumerate(few), Wanted(matcher.attributes))
            found = matcher.match(batch)
            rate = len(few) / median_seconds(lambda batch=batch, matcher=matcher: matcher.match(batch), 3)
            note = f"batches of {len(few):,}; {found.starts[-1] / len(few):.0f} matches an event"
            yield Row(index, "patterns", "packed batch", rate, "events/s", note)


def _word(random_: random.Random, syllables: int) -> str:
    return "".join(random_.choice(_SYLLABLES) for _ in range(syllables))
