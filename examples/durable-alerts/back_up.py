"""Copies the store of a running engine into a folder named for the day, and deletes all but the newest seven."""

import datetime
import pathlib
import shutil

import tocsin

backups = pathlib.Path("backups")
today = backups / datetime.date.today().isoformat()
with tocsin.Engine.open("alerts", read_only=True) as engine:
    engine.backup(today)
with tocsin.Engine.open(today, read_only=True) as copy:
    print(len(copy), "alerts copied")
for old in sorted(backups.iterdir())[:-7]:
    shutil.rmtree(old)
