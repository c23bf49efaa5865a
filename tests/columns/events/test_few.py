"""Values that are derived of a few events one by one are those that whole columns give."""

from __future__ import annotations

from collections.abc import Mapping
from unittest import mock

from hypothesis import example, given
from hypothesis import strategies as st

from tests.columns.events.decoding import decoded
from tocsin.columns.events import few
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.index.texts import with_texts
from tocsin.model.readings import as_instant, as_line, as_words
from tocsin.model.texts import Text
from tocsin.schemas import with_schema

STEMMED = Text("english", stem=True)
STRINGS = st.sampled_from(
    ["Fresh oysters", "oyster", "2024-06-01", "2024-06-01T08:00:00+02:00", "2024-06-31", "", "¡café!"]
)
VALUES = st.one_of(STRINGS, st.lists(STRINGS | st.just(5.0), max_size=3), st.sampled_from([5, True, None, [1, 2]]))
EVENTS = st.lists(st.dictionaries(st.sampled_from(["title", "ts", "other"]), VALUES), min_size=1, max_size=few.MOST)


def derived(events: list[dict[str, object]], typed: Mapping[str, Text]) -> EventBatch:
    ways = [as_words("title", str(Text())), as_line("title", str(Text())), as_words("title", str(STEMMED))]
    wanted = Wanted(["title", "other", as_instant("ts"), as_line("ts", str(STEMMED)), *ways])
    batch = encode_objects(enumerate(events), wanted)
    return with_texts(with_schema(batch, typed) if typed else batch, wanted)


@given(EVENTS, st.sampled_from([{}, {"title": Text()}, {"title": STEMMED, "ts": STEMMED}, {"other": Text()}]))
@example([{"title": ["Fresh", "oysters"], "ts": "2024-06-01"}], {})
@example([{"title": []}, {"title": [5.0]}], {"title": Text()})
def test_a_few_events_get_what_many_get(events: list[dict[str, object]], typed: Mapping[str, Text]) -> None:
    one_by_one = derived(events, typed)
    with mock.patch.object(few, "MOST", 0):
        together = derived(events, typed)

    assert decoded(one_by_one) == decoded(together)
    assert one_by_one.rejects == together.rejects
    assert set(one_by_one.attributes) == set(together.attributes)


def test_there_is_something_to_derive() -> None:
    (event,) = decoded(derived([{"title": "Fresh oysters", "ts": "2024-06-01"}], {}))

    assert len(event) == 7
