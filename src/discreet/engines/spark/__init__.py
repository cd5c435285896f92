"""Spark: private tables in a lake or a cluster, asked by statements that give the same wherever they run."""

from discreet.engines.spark.engine import Spark, describe, fetch, open_tables
from discreet.engines.spark.prepared import prepare
from discreet.engines.spark.source import is_spark, place_of

__all__ = ["Spark", "describe", "fetch", "is_spark", "open_tables", "place_of", "prepare"]
