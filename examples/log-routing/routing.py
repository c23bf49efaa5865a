"""Send each log record to the teams whose rules it satisfies: one file of JSON lines for each team."""

import json
import sys
from pathlib import Path

import tocsin

engine = tocsin.Engine()
report = engine.subscribe_many("rules.jsonl")
assert not report.errors, report.errors

teams: dict[str, int] = {}
Path("routed").mkdir(exist_ok=True)
answer = engine.match_batch(sys.argv[1], payload=True)
for record, matches in answer.documents(sys.argv[1]):
    for team in sorted({json.loads(match["payload"])["to"] for match in matches}):
        with open(f"routed/{team}.jsonl", "a" if team in teams else "w", encoding="utf-8") as file:
            file.write(json.dumps({"rules": [match["subscription"] for match in matches], **record}) + "\n")
        teams[team] = teams.get(team, 0) + 1

print(teams)
for error in answer.errors:
    print(f"row {error.row}: {error.reason.splitlines()[0]}", file=sys.stderr)
for warning in answer.warnings:
    print(f"warning: {warning}", file=sys.stderr)
