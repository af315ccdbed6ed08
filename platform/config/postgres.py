"""PostgreSQL's text has no place for NUL: it is written as U+FFFD, wherever it comes from, instead of failing the whole write.

Task content and spans are not touched: as JSON they hold it escaped. What is compared with stored text later (span ids) is cleaned
where it is parsed, so that it is the same on every database.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.backends.signals import connection_created


def watch_connections() -> None:
    connection_created.connect(_prepare, dispatch_uid="config.postgres")


def _prepare(sender: object, connection: Any, **_: Any) -> None:
    if connection.vendor == "postgresql":
        connection.connection.adapters.register_dumper(str, _text_dumper())


@cache
def _text_dumper() -> type[Any]:
    from psycopg.types.string import StrDumperUnknown

    class TextDumper(StrDumperUnknown):
        def dump(self, obj: str) -> Any:
            return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)

    return TextDumper
