"""The durable half of an engine: a SQLite database with every subscription, which no crash loses.

`database` has the tables, `committing` groups the changes of many threads into transactions, and `owner` makes sure
that one process writes. `writer` opens and closes the three. `engine.durable` keeps the database and the subscriptions
in memory together.
"""

from tocsin.store.committing import Change, Committer
from tocsin.store.database import DATABASE, Database, Identity, Row, missing_changes
from tocsin.store.owner import Owner, require_local
from tocsin.store.writer import Writer, check_sync, make_folder

__all__ = [
    "DATABASE",
    "Change",
    "Committer",
    "Database",
    "Identity",
    "Owner",
    "Row",
    "Writer",
    "check_sync",
    "make_folder",
    "missing_changes",
    "require_local",
]
