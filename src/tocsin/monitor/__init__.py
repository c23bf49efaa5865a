"""Objects that are followed from event to event: who enters, stays in and leaves which subscriptions.

`monitor` is the class for conditions over several events. `processing` has the way of an event, `terms/` has what was
seen of objects, and `turns` and `states` say what truths mean as changes. `explaining` and `progress` say how far a
condition has come, and `dry_run` what it would have reported. `saving` keeps a monitor in a file.

`fences/` follows places, with lines between them. `witness` tells FALSE from UNKNOWN for both.
"""

from tocsin.monitor.dry_run import DryRun
from tocsin.monitor.explaining import MonitorExplanation
from tocsin.monitor.fences.durable import DurableFences
from tocsin.monitor.fences.fences import Fences
from tocsin.monitor.monitor import Monitor

__all__ = ["DryRun", "DurableFences", "Fences", "Monitor", "MonitorExplanation"]
