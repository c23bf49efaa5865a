"""The oracle of fences: what becomes of one object at one subscription, by looking back over all of its events."""

from __future__ import annotations

from collections.abc import Sequence


def changes(
    matched: Sequence[bool],
    times: Sequence[float | None],
    *,
    enter_after: int,
    exit_after: int,
    dwell: float | None,
    inside: bool,
) -> list[tuple[int, str, float | None]]:
    """(event, change, seconds). In after so many matches in a row, out after so many misses in a row."""
    found: list[tuple[int, str, float | None]] = []
    begun = entered = dwelt = None
    for now in range(len(matched)):
        if entered is None and all(matched[max(now - enter_after + 1, 0) : now + 1]) and now + 1 >= enter_after:
            run = [at for at in range(now, -1, -1) if not all(matched[at : now + 1])]
            begun = (run[0] + 1) if run else 0
            after_exit = [event for event, change, _ in found if change == "exit"]
            begun = max(begun, after_exit[-1] + 1) if after_exit else begun
            entered, dwelt = now, None
            found.append((now, "enter", _between(times, begun, now)))
        elif entered is not None and not any(matched[max(now - exit_after + 1, entered) : now + 1]):
            if now - entered >= exit_after:
                found.append((now, "exit", _between(times, begun, now)))
                entered = None
                continue
        elif entered is not None and matched[now] and inside:
            found.append((now, "inside", _between(times, begun, now)))
        if entered is not None and matched[now] and dwell is not None and dwelt is None:
            spent = _between(times, begun, now)
            if spent is not None and spent >= dwell:
                dwelt = now
                found.append((now, "dwell", spent))
    return found


def _between(times: Sequence[float | None], first: int | None, last: int) -> float | None:
    begun, ended = (None if first is None else times[first]), times[last]
    return None if begun is None or ended is None else max(ended - begun, 0.0)


def in_time(numbered: Sequence[tuple[int, dict[str, object]]]) -> list[tuple[int, dict[str, object]]]:
    """The events of one object that are not older than one before them."""
    kept: list[tuple[int, dict[str, object]]] = []
    for number, event in numbered:
        times = [one["t"] for _, one in kept if "t" in one]
        if "t" not in event or not times or event["t"] >= max(times):  # type: ignore[type-var, operator]
            kept.append((number, event))
    return kept
