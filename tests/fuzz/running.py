"""How is an input tried, so that one which kills the process is found? In forks, a batch of inputs each."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.fuzz.targets import TARGETS
from tocsin.errors import TocsinError

FOUND: Final = Path(__file__).parent / "found"
_BATCH: Final = 200
_PATIENCE_S: Final = 30


def tried(name: str, data: bytes) -> str:
    """What went wrong with an input, in this process; empty for nothing."""
    try:
        TARGETS[name].tried(data)
    except TocsinError:
        return ""
    except BaseException:  # noqa: BLE001 - whatever it is, it is a fault
        return traceback.format_exc(limit=-4)
    return ""


def faults(name: str, inputs: Sequence[bytes]) -> Iterator[tuple[bytes, str]]:
    """The inputs with which something goes wrong, and what. A crash, or half a minute for one, is something, too."""
    done = 0
    while done < len(inputs):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            for data in inputs[done:]:
                signal.alarm(_PATIENCE_S)
                os.write(writing, tried(name, data).encode("utf-8", "replace") + b"\x00")
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            told = stream.read().split(b"\x00")[:-1]
        status = os.waitpid(child, 0)[1]
        for data, what in zip(inputs[done:], told, strict=False):
            if what:
                yield data, what.decode()
        done += len(told)
        if os.WIFSIGNALED(status) and done < len(inputs):
            yield inputs[done], f"the process was killed by {signal.Signals(os.WTERMSIG(status)).name}"
            done += 1


def fuzz(name: str, seed: int, count: int | None = None, until: float = float("inf")) -> Iterator[tuple[bytes, str]]:
    """Faults among so many inputs, or those of so long (`time.monotonic`)."""
    dice, seeds = random.Random(f"{name} {seed}"), TARGETS[name].seeds()
    for data in seeds:
        assert tried(name, data) == "", data  # compiles every kernel before the forks
    left = count if count is not None else 1 << 62
    while left > 0 and time.monotonic() < until:
        inputs = [TARGETS[name].mutated(dice, seeds) for _ in range(min(_BATCH, left))]
        left -= len(inputs)
        yield from faults(name, inputs)


def keep(name: str, data: bytes) -> Path:
    """Write an input down where a test finds it."""
    path = FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def smallest(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Fewer bytes with which it still fails: halves, quarters, ... are left out as long as that goes."""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data
