"""Publish the matches that a pipeline writes to a topic of Kafka, so that the service delivers them."""

import json
import sys

from confluent_kafka import Consumer

import tocsin


def deliver(servers: str, topic: str, url: str, most: int | None = None) -> None:
    """Publish each message once, and then move the offset; `most` ends it after so many messages."""
    settings = {"bootstrap.servers": servers, "group.id": "deliver", "enable.auto.commit": False}
    settings["session.timeout.ms"] = 10_000  # so long the partitions of one that was killed wait for another
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    with tocsin.Client(url) as client:
        while most is None or most > 0:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                print(message.error(), file=sys.stderr)
                continue
            headers = dict(message.headers() or [])
            place = f"{topic}/{message.partition()}/{message.offset()}"
            key = headers.get("tocsin-key", place.encode()).decode()  # a repeated match has the same
            client.publish(json.loads(message.value()), key=key)
            consumer.commit(message, asynchronous=False)
            most = None if most is None else most - 1
    consumer.close()


if __name__ == "__main__":
    deliver(*sys.argv[1:4])
