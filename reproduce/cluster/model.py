"""A cost model of a cluster, from the costs of events, visits, matches, shuffled rows and bytes, and tasks.

The model, in CPU seconds of one core, for E events of S subscriptions, v visits an event and m matches:

    local     E (event + v visit + S subscription + m match) + tasks task
    shuffle   first   E (event + v sent + v bytes byte)
              second  E (v read + v visit + S subscription + m match)         by the parts, the largest last
              third   E (v sent + m match)

A stage takes its CPU seconds divided by the cores that it can use. A job, and each shuffle, begins with a time that no
core shortens. An event that meets a subscription meets it wherever it is stored. So a placement saves visits, not
candidates, and `S subscription` is the same for all placements. The model leaves out: network time beyond the cores
that serve it, uneven arrival of events, memory that is read for the first time, and machines that fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU seconds on one core, except `job`, which is in wall seconds."""

    event: float  # through Spark and Python and back, including encoding and looking up visits
    read: float  # encoding it once more
    visit: float  # of a part, whatever its size
    subscription: float  # for each that exists, since candidates are proportional to them
    match: float  # its way out
    sent: float  # a row through a shuffle, out of Python and back in
    byte: float  # of such a row
    task: float
    shuffle: float  # the fixed time of a shuffle
    job: float  # the fixed time of a job


class Load(NamedTuple):
    """The work to be done."""

    events: int
    subscriptions: int
    matches: float  # of an event, for a million subscriptions
    bytes_an_event: float
    bytes_a_subscription: float


class Lies(NamedTuple):
    """How subscriptions are distributed by a placement. `PlacementReport` measures it on a sample."""

    parts: int
    visits: float  # of an event
    copies: float  # of a subscription
    balance: float  # the busiest part over the mean, by visits times subscriptions


class Cluster(NamedTuple):
    """Identical executors, each a machine."""

    executors: int
    cores: int = 1
    memory: float = 16e9

    @property
    def all_cores(self) -> int:
        return self.executors * self.cores


class Taken(NamedTuple):
    """The time and memory that a job would take."""

    routing: str
    cpu: float
    seconds: float
    index_bytes: float  # of all parts


TASKS_A_CORE = 4


def taken(load: Load, lies: Lies, cluster: Cluster, costs: Costs, routing: str = "auto") -> Taken:
    """The time to match the events, either where they are or after a shuffle."""
    index_bytes = load.subscriptions * lies.copies * load.bytes_a_subscription
    if routing == "auto":
        routing = "local" if index_bytes <= cluster.memory / 2 else "shuffle"
    stages = _local(load, lies, costs) if routing == "local" else _shuffled(load, lies, costs)
    cores = cluster.all_cores
    cpu, seconds = 0.0, costs.job
    for number, (work, most, balance) in enumerate(stages):
        tasks = min(TASKS_A_CORE * cores, most)
        used = min(cores, most)
        begin = costs.shuffle if number else 0.0
        cpu += begin + work + tasks * costs.task
        seconds += begin + (balance * work + tasks * costs.task) / used
    return Taken(routing, cpu, seconds, index_bytes)


class _Stage(NamedTuple):
    """The work between two shuffles."""

    work: float  # CPU seconds
    most: int  # the number of cores that can share it
    balance: float


_ANY = 1 << 30


def _local(load: Load, lies: Lies, costs: Costs) -> list[_Stage]:
    return [_Stage(load.events * (costs.event + _matching(load, lies, costs)), _ANY, 1.0)]


def _shuffled(load: Load, lies: Lies, costs: Costs) -> list[_Stage]:
    out = lies.visits * (costs.sent + load.bytes_an_event * costs.byte)
    back = lies.visits * costs.sent + _matches(load) * costs.match
    asked = lies.visits * costs.read + _matching(load, lies, costs)
    of_parts = _Stage(load.events * asked, lies.parts, lies.balance)
    return [_Stage(load.events * (costs.event + out), _ANY, 1.0), of_parts, _Stage(load.events * back, _ANY, 1.0)]


def _matching(load: Load, lies: Lies, costs: Costs) -> float:
    """The matching cost of one event."""
    candidates = load.subscriptions * costs.subscription
    return lies.visits * costs.visit + candidates + _matches(load) * costs.match


def _matches(load: Load) -> float:
    return load.matches * load.subscriptions / 1e6
