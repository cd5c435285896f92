"""A bounded copy of a table for Spark: a folder of Parquet files that only its owner can enter.

Rows of a person are beside each other in one file, and Spark is told which: whoever counts by person
afterwards finds them together, where it would have exchanged nearly all rows.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.engines.protocol import PRIVATE, PRIVATE_FOLDER, UNPREPARED, Preparation
from discreet.engines.shelter import quietly
from discreet.engines.spark import bucket
from discreet.engines.spark.engine import Spark, open_tables
from discreet.engines.spark.folder import is_seen
from discreet.engines.spark.render import render
from discreet.engines.spark.session import is_remote
from discreet.engines.spark.source import place_of
from discreet.errors import CatalogError, EngineError
from discreet.query.proof import sealed


def prepare(asked: Preparation, target: Path) -> None:
    """Run a proved preparation of one table and keep its rows as a folder of Parquet files.

    The folder appears complete or not at all: until it is complete it stands in a directory of its own, which
    nobody else can enter.
    """
    where = f"tables.{asked.name}.prepared"
    source = place_of(asked.name, asked.origin.rows).folder
    if source and Path(source).resolve() in target.parents:
        raise CatalogError(
            f"{where}: the copy would be inside of the folder that Spark reads, and be read with the next "
            "version; keep the manifest outside of it"
        )
    engine = open_tables({asked.name: asked.origin})
    try:
        with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as private:
            partial = Path(private) / "rows"
            quietly(lambda: _keep(engine, asked, partial), EngineError(UNPREPARED))
            for file in partial.iterdir():
                file.chmod(PRIVATE)
            partial.chmod(PRIVATE_FOLDER)
            _appear(partial, target)
    finally:
        engine.close()


def _keep(engine: Spark, asked: Preparation, partial: Path) -> None:
    text = render(sealed(asked.proved), engine._columns).body
    with engine._looking({asked.name}) as session:
        here = not is_remote(session) and session.sparkContext.master.startswith("local")
        if not here or not is_seen(session, str(partial.parent)):
            raise CatalogError(
                f"tables.{asked.name}.prepared is for a Spark of this machine, which writes where this "
                "process can keep others out; elsewhere rows_per_unit bounds the table in each question"
            )
        bucket.write(session.sql(text, {"choice": asked.choice}), asked.unit, partial)


def _appear(partial: Path, target: Path) -> None:
    """Give a complete folder its name, unless somebody else was sooner: theirs is as good."""
    try:
        os.replace(partial, target)
    except OSError:
        if not target.is_dir():
            raise
