"""The public names of `tocsin.spark`."""

from tocsin.placement import PlacementReport
from tocsin.segment.uploading import upload
from tocsin.spark.changing import UpdateReport, follow, merge, update
from tocsin.spark.compiling import CompileReport, compile
from tocsin.spark.counting import statistics
from tocsin.spark.kafka import read_kafka, write_kafka
from tocsin.spark.listening import Metrics
from tocsin.spark.matching import match
from tocsin.spark.parquet import match_parquet
from tocsin.spark.placing import plan
from tocsin.spark.session import local_session
from tocsin.spark.warming import warm
from tocsin.spark.windows.asking import window
from tocsin.spark.writing import WriteReport, match_to_parquet

__all__ = [
    "CompileReport",
    "Metrics",
    "PlacementReport",
    "UpdateReport",
    "WriteReport",
    "compile",
    "follow",
    "local_session",
    "match",
    "match_parquet",
    "match_to_parquet",
    "merge",
    "plan",
    "read_kafka",
    "statistics",
    "update",
    "upload",
    "warm",
    "window",
    "write_kafka",
]
