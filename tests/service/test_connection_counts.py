"""The number of connections: no limit is exceeded, whoever comes and goes, and the process may open as many files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.service import connections
from tocsin.service.connections import Connections, room_for


class Stub:
    """A connection that notes that it was given up."""

    def __init__(self) -> None:
        self.is_over = False

    def give_up(self) -> None:
        self.is_over = True


HOSTS = [
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "10.0.0.2",
    "2001:db8::1",
    "2001:db8::ffff",
    "2001:db8:0:1::1",
    "192.0.2.1",
    None,
]
OWNERS = [0, 0, 1, 2, 2, 3, None, None]


@given(st.lists(st.tuples(st.sampled_from(["enter", "leave", "busy", "idle"]), st.integers(0, 7)), max_size=60))
def test_no_limit_is_exceeded(steps: list[tuple[str, int]]) -> None:
    """A network of IPv6 counts as one address, and a mapped one as its own. A proxy and a socket without one do not."""
    known = Connections(6, 2, ["192.0.2.0/24"])
    there: dict[Stub, int] = {}
    for step, number in steps:
        if step == "enter":
            connection = Stub()
            owners = [OWNERS[each] for each in there.values()]
            is_full = OWNERS[number] is not None and owners.count(OWNERS[number]) >= 2
            problem = known.enter(connection, HOSTS[number])
            there = {each: place for each, place in there.items() if not each.is_over}
            if problem is None:
                there[connection] = number
            assert (problem is not None and problem.more["limit"] == "address") == is_full
        elif there:
            connection = list(there)[number % len(there)]
            getattr(known, step)(connection)
            if step == "leave":
                del there[connection]
                known.leave(connection)

        assert len(known) == len(there) <= 6
        assert set(known._idle) <= set(there)
    for connection in list(there):
        known.leave(connection)
    assert not known._counts and not known._idle and not len(known)


def test_refused_connections_that_wait_are_few() -> None:
    known = Connections(0)
    waiting = [Stub() for _ in range(1000)]
    assert all(known.enter(connection, "10.0.0.1") for connection in waiting)

    assert sum(known.may_wait(connection) for connection in waiting) == connections._MOST_WAITING


@pytest.mark.parametrize(
    ("limits", "wanted", "room", "raised"),
    [
        ((65_536, 65_536), 10_000, 10_000, None),
        ((1024, 524_288), 10_000, 10_000, 10_512),
        ((1024, -1), 10_000, 10_000, 10_512),
        ((-1, -1), 10_000, 10_000, None),
        ((1024, 4096), 10_000, 3584, 4096),
        ((256, 256), 10_000, 128, 256),
        ((2, 2), 10_000, 1, 2),
    ],
)
def test_the_process_may_open_as_many_files(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], wanted: int, room: int, raised: int | None
) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    came: list[int] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: came.append(pair[0]))

    assert room_for(wanted) == room
    assert came in ([], [raised])


def test_a_system_with_a_smaller_limit_is_asked_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """As macOS, where a process without a limit may open 10,240 files."""
    resource = pytest.importorskip("resource", reason="Windows has no such limits")

    def limited(_: int, pair: tuple[int, int]) -> None:
        if pair[0] > 10_240:
            raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", limited)

    assert room_for(20_000) == 10_240 - connections._RESERVED
