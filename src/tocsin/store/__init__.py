"""The durable half of an engine, fences or a window: a SQLite database with all they hold, which no crash loses.

`database` has the connection, `subscription_table` and `window_tables` the tables that grow, and `schema` all tables by
version. `committing` groups the changes of many threads into transactions, and `owner` makes sure that one process
writes. `writer` opens and closes the three. `copying` copies a store while it is written. `write_ahead_log` notices a
damaged log. `engine.durable` and `window.durable` keep database and memory together.
"""

from tocsin.store.committing import Change, Committer, Progress, concerns_store
from tocsin.store.connections import Filling, bounded, is_damage, overwriting
from tocsin.store.connections import sync as sync_folder
from tocsin.store.contents import (
    WINDOW,
    holds_window,
    missing_changes,
    refuse_others,
    require_no_window,
    require_window,
)
from tocsin.store.copying import back_up, begin_epoch, copy_store
from tocsin.store.database import ALARMING_LOG, DATABASE, Database, Identity
from tocsin.store.examining import Check, Checking, Finding, examine_store
from tocsin.store.owner import InUse, require_local
from tocsin.store.subscription_table import Row, Rows, SubscriptionTable
from tocsin.store.window_tables import InterestRow, MessageRow
from tocsin.store.write_ahead_log import salvage
from tocsin.store.writer import Writer, check_sync, make_folder

__all__ = [
    "ALARMING_LOG",
    "DATABASE",
    "WINDOW",
    "Change",
    "Check",
    "Checking",
    "Committer",
    "Database",
    "Filling",
    "Finding",
    "Identity",
    "InUse",
    "InterestRow",
    "MessageRow",
    "Progress",
    "Row",
    "Rows",
    "SubscriptionTable",
    "Writer",
    "back_up",
    "begin_epoch",
    "bounded",
    "check_sync",
    "concerns_store",
    "copy_store",
    "examine_store",
    "holds_window",
    "is_damage",
    "make_folder",
    "missing_changes",
    "overwriting",
    "refuse_others",
    "require_local",
    "require_no_window",
    "require_window",
    "salvage",
    "sync_folder",
]
