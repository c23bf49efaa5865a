"""Which events a micro-batch has, which of them a task, and when a task has read its range: without a broker."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin.spark as tocsin_spark
from tocsin.errors import InvalidInput, MissingExtra, TocsinError
from tocsin.spark.kafka import ranges
from tocsin.spark.kafka.ranges import Range
from tocsin.spark.kafka.reading import table, up_to
from tocsin.spark.kafka.settings import Broker, Reading, properties

BROKER = Broker("here:9092", "events", 0.3)


@dataclass
class Message:
    """A message, or the end of a partition."""

    number: int
    is_end: bool = False
    text: bytes | None = b"{}"
    code: int | None = None

    def offset(self) -> int:
        return self.number

    def value(self) -> bytes | None:
        return self.text

    def key(self) -> bytes | None:
        return b"k\xff"

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_123

    def error(self) -> Any:
        from confluent_kafka import KafkaError

        if self.is_end:
            return KafkaError(KafkaError._PARTITION_EOF)
        return None if self.code is None else KafkaError(self.code)


@dataclass
class Consumer:
    """Gives lists of messages one after the other, then nothing."""

    lists: list[list[Message]]
    asked: list[int] = field(default_factory=list)

    def consume(self, num_messages: int, timeout: float) -> list[Message]:
        self.asked.append(num_messages)
        return self.lists.pop(0) if self.lists else []


def offsets(lists: list[list[Message]], piece: Range) -> list[int]:
    return [message.offset() for taken in up_to(Consumer(lists), BROKER, piece) for message in taken]


def test_kafka_is_imported_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where it is not installed, the error says what brings it."""
    code = "import sys, tocsin.spark; print('confluent_kafka' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tocsin\[kafka\]'"):
        tocsin_spark.read_kafka(None, servers="a", topic="b")  # type: ignore[arg-type]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 200)), max_size=6),
    st.integers(1, 300),
    st.integers(1, 40),
)
def test_a_micro_batch_has_what_may_be_and_no_more(each: list[tuple[int, int]], most: int, task: int) -> None:
    """All there is or the limit, whichever is less; tasks have all of it, in pieces that fit, none twice."""
    start = {partition: first for partition, (first, _) in enumerate(each)}
    high = {partition: first + count for partition, (first, count) in enumerate(each)}

    end = ranges.limited(start, high, most)

    assert sum(end.values()) - sum(start.values()) == min(most, sum(count for _, count in each))
    assert all(start[partition] <= end[partition] <= high[partition] for partition in high)
    pieces = ranges.split(start, end, task)
    read = [(one.partition, offset) for one in pieces for offset in range(one.first, one.end)]
    assert read == [(partition, offset) for partition in start for offset in range(start[partition], end[partition])]
    assert all(0 < one.end - one.first <= task for one in pieces)


def test_a_limit_is_dealt_by_what_waits_and_starves_nobody() -> None:
    """Nine tenths to who has nine tenths; the last one of few goes to who would get none."""
    start = dict.fromkeys(range(3), 0)

    assert ranges.limited(start, {0: 900, 1: 100, 2: 0}, 100) == {0: 90, 1: 10, 2: 0}
    assert ranges.limited(start, {0: 1000, 1: 1, 2: 1}, 10) == {0: 9, 1: 1, 2: 0}
    assert ranges.limited({0: 5}, {0: 9}, None) == {0: 9}


def test_a_checkpoint_has_the_topic_and_its_offsets() -> None:
    """In the form that Spark's connector has; one of another topic is refused."""
    assert ranges.written("events", {10: 3, 2: 5}) == {"events": {"2": 5, "10": 3}}
    assert ranges.read("events", {"events": {"2": 5, "10": 3}}) == {2: 5, 10: 3}
    with pytest.raises(InvalidInput, match="the checkpoint is for the topic 'other', but the query reads 'events'"):
        ranges.read("events", {"other": {}})


@pytest.mark.parametrize(
    ("start", "low", "high", "reason"),
    [
        ({0: 5}, {0: 9}, {0: 20}, "events 5 to 8 of partition 0 of .* were deleted before they were read"),
        ({0: 5}, {0: 0}, {0: 3}, "partition 0 of .* ends at offset 3, but was read up to 5"),
        (
            {0: 5, 1: 2},
            {0: 0},
            {0: 9},
            "partition 1 of .* does not exist any more; its events from offset 2 on were not read",
        ),
        ({}, {0: 4}, {0: 9}, "events 0 to 3 of partition 0 of .* were deleted"),
    ],
)
def test_events_that_are_gone_are_told(start: Any, low: Any, high: Any, reason: str) -> None:
    """Deleted, or of a topic that was made anew: with the offsets, and what to do."""
    with pytest.raises(TocsinError, match=reason) as told:
        ranges.checked(str(BROKER), start, low, high)

    assert "the topic 'events' at here:9092" in str(told.value)
    assert "\n" not in str(told.value)


def test_a_partition_that_is_new_or_was_made_anew_is_read_from_its_first_event() -> None:
    """Nothing else can be known of it."""
    assert ranges.begun({0: 5, 1: 9}, {0: 7, 1: 3, 2: 4}) == {0: 5, 1: 0, 2: 0}
    assert ranges.split({0: 5}, {0: 7, 1: 2}, 100) == [Range(0, 5, 7), Range(1, 0, 2)]


@pytest.mark.parametrize(
    "lists",
    [
        [
            [Message(3), Message(4)],
            [Message(6)],
            [Message(9)],
        ],  # 5, 7 and 8 were compacted away; 9 is of the next range
        [
            [Message(3), Message(4), Message(6), Message(8, is_end=True)]
        ],  # the end is there, after numbers without events
        [[], [Message(3)], [], [Message(4), Message(6)], [Message(12, is_end=True)]],
        [
            [Message(3, code=-195)],
            [Message(3), Message(4), Message(6)],
            [Message(8, is_end=True)],
        ],  # a broken connection
    ],
)
def test_a_range_is_read_up_to_an_offset_and_not_by_count(lists: list[list[Message]]) -> None:
    """Of some numbers no event comes: it ends all the same."""
    assert offsets(lists, Range(0, 3, 8)) == [3, 4, 6]


def test_a_range_of_which_nothing_is_left_ends() -> None:
    """All of it was compacted away."""
    assert offsets([[Message(40)]], Range(0, 3, 8)) == []
    assert offsets([], Range(0, 3, 3)) == []


def test_a_broker_that_falls_silent_is_told() -> None:
    """With the partition, how far it was read, and the last thing that was heard."""
    with pytest.raises(
        TocsinError, match=r"partition 2 of the topic 'events' at here:9092 was read up to offset 4 of 8"
    ):
        offsets([[Message(3)]], Range(2, 3, 8))
    with pytest.raises(TocsinError, match=r"nothing came for 0\.3 s: .*[Tt]ransport"):
        offsets([[Message(3, code=-195)]], Range(2, 3, 8))


def test_events_that_are_deleted_while_they_are_read_are_told() -> None:
    """And what a broker forbids is told at once."""
    with pytest.raises(TocsinError, match=r"events from offset 3 on of partition 0 .* were deleted while"):
        offsets([[Message(3, code=-140)]], Range(0, 3, 8))
    with pytest.raises(TocsinError, match=r"the topic 'events' at here:9092: .*[Aa]uthorization"):
        offsets([[Message(3, code=29)]], Range(0, 3, 8))


def test_bytes_that_are_no_text_are_kept() -> None:
    """A value in `bad`, a character each; a key as it would be written. A tombstone is null."""
    values = [b'{"n": 1}', b'{"s": "\xe9\xff"}', None, "é".encode(), b"", b"\xed\xa0\x80"]

    rows = table([Message(number, text=text) for number, text in enumerate(values)], 7).to_pylist()

    assert [row["value"] for row in rows] == ['{"n": 1}', None, None, "é", "", None]
    assert [row["bad"] and row["bad"].encode("latin-1") for row in rows] == [
        None,
        values[1],
        None,
        None,
        None,
        values[5],
    ]
    assert {row["key"] for row in rows} == {"k\\xff"}
    assert {row["partition"] for row in rows} == {7}
    assert [row["offset"] for row in rows] == list(range(6))
    assert {row["timestamp"].timestamp() for row in rows} == {1_700_000_000.123}


def test_settings_survive_the_way_through_spark() -> None:
    """As strings, with a prefix for what is the library's."""
    reading = Reading(
        "a:1,b:2", "events", "latest", "skip", 5, 7, 1.5, properties({"security.protocol": "SSL", "n": True})
    )

    assert Reading.read(reading.written()) == reading
    assert Reading.read({"servers": "a", "topic": "t"}) == Reading("a", "t")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topc": "t"}, "'topc' is not an option of this source; the options are servers, topic, starting"),
        ({"topic": "t"}, "the option 'servers' is missing"),
        ({"servers": "a", "topic": " "}, "topic is ' '"),
        ({"servers": "a", "topic": "t", "starting": "now"}, "starting is 'now'; it must be 'earliest' or 'latest'"),
        ({"servers": "a", "topic": "t", "gone": "x"}, "gone is 'x'; it must be 'fail' or 'skip'"),
        ({"servers": "a", "topic": "t", "most_per_batch": "0"}, "most_per_batch is 0; it must be at least 1"),
        ({"servers": "a", "topic": "t", "most_per_task": "many"}, "most_per_task is 'many'; it must be a number"),
        ({"servers": "a", "topic": "t", "timeout_s": "nan"}, "timeout_s is nan"),
        ({"servers": "a", "topic": "t", "kafka.enable.auto.commit": "1"}, "options may not set 'enable.auto.commit'"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, str], reason: str) -> None:
    """Each with what it is and what there is."""
    with pytest.raises(InvalidInput, match=reason):
        Reading.read(options)
