"""tocsin compile --plan: the estimated costs of placements on Spark's partitions, before anything is built."""

from __future__ import annotations

import argparse
import math
from typing import Final

from tocsin.cli.options import reading_of, said, sampled
from tocsin.cli.rejects import refuse_overwriting, reject_log
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import with_coordinates
from tocsin.engine.loading import read_part
from tocsin.engine.sampling import first_batches
from tocsin.errors import InvalidInput
from tocsin.index import choose
from tocsin.index.elements import with_conditions
from tocsin.placement import AUTO, PLACEMENTS, check_placement, routed_plan
from tocsin.progress import ShareBar
from tocsin.segment.folder import saved_statistics
from tocsin.segment.outlines import bytes_each

_PARTITIONS: Final = 8


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options for a plan."""
    parser.add_argument(
        "--plan", action="store_true", help="build nothing; report the estimated cost of each placement on Spark"
    )
    parser.add_argument(
        "--partitions", type=int, metavar="N", help=f"with --plan: the number of partitions (default: {_PARTITIONS})"
    )
    parser.add_argument(
        "--memory",
        type=float,
        metavar="GB",
        help="with --plan: the memory of a machine in GB (default: that of this machine)",
    )
    names = ", ".join(PLACEMENTS)
    about = f"with --plan: the placement, {names}, or auto to compare all (default: auto)"
    parser.add_argument("--placement", metavar="NAME", help=about)


def require_plan(given: argparse.Namespace) -> None:
    """Raise `InvalidInput` if an option is given that only applies to a plan."""
    for name in ("partitions", "memory", "placement"):
        value = getattr(given, name)
        if value is not None:
            raise InvalidInput(
                f"--{name} {value} is only for --plan: compile writes one part; tocsin.spark.compile partitions "
                "an index"
            )


def print_plan(given: argparse.Namespace) -> int:
    """Print the cost of one placement, or the costs of all and the chosen one."""
    placement = AUTO if given.placement is None else given.placement
    partitions = _PARTITIONS if given.partitions is None else given.partitions
    check_placement(placement, partitions)
    memory = _bytes(given.memory)
    refuse_overwriting([one for one in (given.subscriptions, given.sample) if one], [given.errors])
    statistics = sampled(given) or (None if given.folder is None else saved_statistics(given.folder))
    with reject_log(given.errors) as log:
        with ShareBar("reading subscriptions") as bar:
            part, rejects = read_part(given.subscriptions, progress=bar.update)
        log.add("subscription", rejects)
        log.require("subscription", len(part), given.subscriptions)
        wanted = Wanted(part.compiled.attributes)
        batches: list[EventBatch] = []
        if given.sample is not None:
            batches = _sample_batches(given, wanted)
        size = bytes_each(part, choose("auto", statistics)) * len(part)
        names = [placement] if placement != AUTO else [*PLACEMENTS, AUTO]
        for name in names:
            report = routed_plan(part, name, partitions, statistics, batches, size, memory)
            print(f"auto chooses {report.name}" if name == AUTO else "\n".join(report.lines()))
    return 1 if log.count else 0


def _sample_batches(given: argparse.Namespace, wanted: Wanted) -> list[EventBatch]:
    """The events of the sample, with the attributes that subscriptions use."""
    how = reading_of(given)
    wanted = with_coordinates(wanted, how.points)
    batches = first_batches(said(given.sample, given.format), wanted, **how._asdict())
    return [with_conditions(batch, wanted) for batch in batches]


def _bytes(gigabytes: float | None) -> int | None:
    """The bytes given by --memory; raises `InvalidInput` for less than a byte."""
    if gigabytes is None:
        return None
    count = gigabytes * (1 << 30)
    if not 1 <= count < math.inf:
        raise InvalidInput(f"--memory is {gigabytes:g}; it must be the memory of a machine in GB, above 0")
    return round(count)
