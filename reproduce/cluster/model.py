"""How long would a cluster take? From what an event, a visit, a match, a row and a byte of a shuffle, and a task cost.

The model, in CPU seconds of one core, for E events of S subscriptions, v visits an event and m matches:

    local     E (event + v visit + S subscription + m match) + tasks task
    shuffle   first   E (event + v sent + v bytes byte)
              second  E (v read + v visit + S subscription + m match)         by the parts, the largest last
              third   E (v sent + m match)

A stage takes its seconds over as many cores as it can use; a job, and each shuffle, begin with seconds that no core
shortens. Who meets a subscription at all, meets it wherever it lies: a placement saves visits and not candidates, so
`S subscription` is the same for all. What is left out: how long a network takes beside the cores that serve it, events
that do not come evenly, memory that is read the first time, and machines that fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU seconds on one core, but for `job`, which is seconds by the clock."""

    event: float  # through Spark and Python and back, encoded, its visits looked up
    read: float  # to encode it once more
    visit: float  # of a part, whatever it holds
    subscription: float  # for each that there is: so many are candidates
    match: float  # on its way out
    sent: float  # a row through a shuffle, out of Python and into it again
    byte: float  # of it
    task: float
    shuffle: float  # that begins, in one place
    job: float  # that begins


class Load(NamedTuple):
    """What is to be done."""

    events: int
    subscriptions: int
    matches: float  # of an event, a million subscriptions
    bytes_an_event: float
    bytes_a_subscription: float


class Lies(NamedTuple):
    """How subscriptions lie by a placement: `PlacementReport` says it of a sample."""

    parts: int
    visits: float  # of an event
    copies: float  # of a subscription
    balance: float  # the busiest part over the mean, by visits and what they meet


class Cluster(NamedTuple):
    """Executors that are alike, each a machine."""

    executors: int
    cores: int = 1
    memory: float = 16e9

    @property
    def all_cores(self) -> int:
        return self.executors * self.cores


class Taken(NamedTuple):
    """What a job would take."""

    routing: str
    cpu: float
    seconds: float
    index_bytes: float  # of all parts


TASKS_A_CORE = 4


def taken(load: Load, lies: Lies, cluster: Cluster, costs: Costs, routing: str = "auto") -> Taken:
    """How long the events take, matched where they are or where they are sent."""
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
    """Work that lies between two shuffles."""

    work: float  # CPU seconds
    most: int  # cores that can share it
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
    """Of one event."""
    candidates = load.subscriptions * costs.subscription
    return lies.visits * costs.visit + candidates + _matches(load) * costs.match


def _matches(load: Load) -> float:
    return load.matches * load.subscriptions / 1e6
