"""Reading events from Kafka and writing matches to it, with confluent-kafka instead of a connector's jars.

    from tocsin import spark
    events = spark.read_kafka(session, servers="localhost:9092", topic="events")
    matched = spark.match(events, "index/", json="value", corrupt="bad")
    matched.writeStream.foreachBatch(lambda rows, _: spark.write_kafka(rows, servers=..., topic="matches", key="key"))

Reading: `source.py` is the data source for Spark, `ranges.py` plans micro-batches, `topics.py` describes a topic to the
driver, `reading.py` runs in tasks. Writing: `sink.py`. The options of both: `settings.py`.
"""

from tocsin.spark.kafka.sink import write_kafka
from tocsin.spark.kafka.source import read_kafka

__all__ = ["read_kafka", "write_kafka"]
