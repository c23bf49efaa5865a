"""How do events come from Kafka to Spark, and matches go back? Over confluent-kafka, without a connector's jars.

    from tocsin import spark
    events = spark.read_kafka(session, servers="localhost:9092", topic="events")
    matched = spark.match(events, "index/", json="value", corrupt="bad")
    matched.writeStream.foreachBatch(lambda rows, _: spark.write_kafka(rows, servers=..., topic="matches", key="key"))

Reading: `source.py` is what Spark asks, `ranges.py` what a micro-batch is to have, `topics.py` what the driver knows of
a topic, `reading.py` what a task does. Writing: `sink.py`. What a user may say of both: `settings.py`.
"""

from tocsin.spark.kafka.sink import write_kafka
from tocsin.spark.kafka.source import read_kafka

__all__ = ["read_kafka", "write_kafka"]
