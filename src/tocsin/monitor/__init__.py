"""Objects that are followed from event to event: who enters, stays in and leaves which subscriptions.

`monitor` is the class for conditions over several events. `processing` has the way of an event. `vocabulary` has the
terms of all subscriptions, and `memory` their values, with which `recalling` matches events. `turns` and `states` say
what truths mean as changes. `explaining` and `progress` say how far a condition has come, and `dry_run` what it would
have reported.

`fences` is the class for places. `following` asks an engine for the matches of events, `tracking` has the state of the
objects, `witness` tells FALSE from UNKNOWN, and `durable` keeps the state in a database.
"""

from tocsin.monitor.dry_run import DryRun
from tocsin.monitor.durable import DurableFences
from tocsin.monitor.explaining import MonitorExplanation
from tocsin.monitor.fences import Fences
from tocsin.monitor.monitor import Monitor

__all__ = ["DryRun", "DurableFences", "Fences", "Monitor", "MonitorExplanation"]
