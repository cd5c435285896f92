"""Sessions of Spark: found or started, and pinned, so that nothing of their surroundings changes an answer.

Each engine has a session of its own: settings and names of others neither reach it nor hear of it.  One Java
process serves all sessions of this process that do not go to a server; it ends when this process ends.
"""

import logging
import os
import re
import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from typing import Any

from discreet.engines.scratch import Scratch
from discreet.engines.spark.source import CONNECT
from discreet.errors import CatalogError
from discreet.extra import library

JAVA = 17
"""The first version of Java that Spark runs on."""

SETTINGS = {
    # What a statement means.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    # Otherwise a constant text with ${...} in it would become a setting of the server.
    "spark.sql.variable.substitute": "false",
    # What a stored cell means; nothing is guessed from data, and nothing unreadable is passed over.
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # A busy cluster is slow, and does not fail.
    "spark.sql.broadcastTimeout": "-1",
    # How it runs.  Weights of some million people go to where their rows are: rows outnumber them.
    "spark.sql.autoBroadcastJoinThreshold": str(64 * 2**20),
    # People are counted in a table of a million entries, not of the usual 65,536.
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "20",
}
"""What holds in every session that asks questions."""

_LAUNCH = {
    # A page with statements and plans on a port is nobody's business.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What goes wrong may be said with cells in it.
    "spark.log.level": "OFF",
    "spark.app.name": "discreet",
}

_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    # Otherwise whoever is on this machine could ask it for the rows that it keeps.
    "spark.authenticate": "true",
    # How many groups there are must not decide whether a question can be answered.
    "spark.driver.maxResultSize": "0",
}

_DECIDED = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")
"""What says in the environment where Spark runs."""

_starting = threading.Lock()
_scratch: list[Scratch] = []


def begun(address: str) -> Any:
    """Return a new session at an address, or where the environment says, or else in this machine."""
    address = address or os.environ.get("SPARK_REMOTE", "")
    with _starting, warnings.catch_warnings():
        # Said about libraries beside Spark that are not used here.
        warnings.simplefilter("ignore")
        module = library("pyspark.sql", "spark", "a table in Spark")
        if address.startswith(CONNECT):
            library("grpc", "spark", "Spark Connect")
            session = module.SparkSession.builder.remote(address).create()
        else:
            session = _root(module, address).newSession()
            if session.sparkContext.master.startswith("local["):
                # As many as can run: two hundred, as for a cluster, would cost more than what they do.
                session.conf.set("spark.sql.shuffle.partitions", str(session.sparkContext.defaultParallelism))
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
    return session


def _root(module: Any, address: str) -> Any:
    from pyspark import SparkContext

    running = SparkContext._active_spark_context
    if running is not None and _has_ended(running):
        _forget(module, running)
        running = None
    if running is not None:
        if address and running.master != address:
            raise CatalogError("this process already runs Spark at another address; open the data in its own")
        return module.SparkSession.builder.getOrCreate()
    _demand_java()
    settings = dict(_LAUNCH)
    builder = module.SparkSession.builder
    if address:
        builder = builder.master(address)
    elif not any(name in os.environ for name in _DECIDED):
        builder = builder.master("local[*]")
        _scratch[:] = [Scratch()]
        own = str(_scratch[0].path)
        settings |= _LOCAL | {"spark.local.dir": own, "spark.sql.warehouse.dir": f"{own}/warehouse"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _has_ended(context: Any) -> bool:
    try:
        return bool(context._jsc is None or context._jsc.sc().isStopped())
    except Exception:
        return True


def _forget(module: Any, context: Any) -> None:
    """Let go of a Java process that has ended, so that another can be started."""
    from pyspark import SparkContext

    with _quiet():
        try:
            context.stop()
        finally:
            SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
            module.SparkSession._instantiatedSession = None


def has_ended(session: Any) -> bool:
    """Whether a session can no longer be asked."""
    return bool(session.is_stopped) if is_remote(session) else _has_ended(session.sparkContext)


def is_remote(session: Any) -> bool:
    """Whether a session goes through Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def _demand_java() -> None:
    """Refuse to start without a Java that Spark runs on, and say which."""
    home = os.environ.get("JAVA_HOME")
    found = which("java", path=f"{home}/bin") if home else which("java")
    advice = f"Spark needs Java {JAVA} or newer: install Debian's openjdk-17-jre-headless or another, and"
    if found is None:
        raise CatalogError(f"{advice} let JAVA_HOME or the path lead to it; none was found")
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None or int(version[1]) < JAVA:
        raise CatalogError(
            f"{advice} let JAVA_HOME or the path lead to it; what was found is older or does not start"
        )


_ours = threading.local()


class _Ours(logging.Filter):
    """Lets pass what is not said about a question of ours: it may be said with cells in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_ours, "asking", False)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep what Spark's Python side would log of errors to itself, for this thread."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        if not any(isinstance(held, _Ours) for held in logger.filters):
            logger.addFilter(_Ours())
    before, _ours.asking = getattr(_ours, "asking", False), True
    try:
        yield
    finally:
        _ours.asking = before
