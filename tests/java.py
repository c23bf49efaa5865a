"""How is Spark's JVM started for tests? To be quick at little: compiled once, and with one thread for garbage."""

from __future__ import annotations

from typing import Final

QUICK: Final = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
