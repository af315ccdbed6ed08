"""A small example file of each format, to fill in. Pure."""

from __future__ import annotations

import csv
import io
import zipfile

import msgspec

from proctor.formats import FileRefused

ROWS: list[dict[str, object]] = [
    {
        "slug": "sum-1",
        "env": "my-environment",
        "task_id": "solve",
        "args": {"question": "What is 2 + 2?", "answer": "4"},
        "columns": {"level": 1},
    },
    {
        "slug": "sum-2",
        "env": "my-environment",
        "task_id": "solve",
        "args": {"question": "What is 2.50 + 1?", "answer": "3.50"},
        "columns": {"level": 2},
    },
]
EVALS: list[dict[str, object]] = [{"input": [{"role": "user", "content": "What is 2 + 2?"}], "ideal": "4"}]
SAMPLES: list[dict[str, object]] = [{"id": "sum-1", "input": "What is 2 + 2?", "target": "4", "metadata": {"level": 1}}]
DOCKERFILE = "FROM debian:stable-slim\n"
FOLDER = {
    "my-task/task.toml": 'schema_version = "1.0"\n\n[metadata]\nlevel = 1\n\n[agent]\ntimeout_sec = 600.0\n\n[verifier]\ntimeout_sec = 120.0\n',
    "my-task/instruction.md": "Write the number 4 into /app/answer.txt.\n",
    "my-task/environment/Dockerfile": DOCKERFILE,
    "my-task/tests/test.sh": '#!/bin/sh\nmkdir -p /logs/verifier\n[ "$(cat /app/answer.txt)" = 4 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n',
}
TYPES = {
    "csv": "text/csv", "tsv": "text/tab-separated-values", "json": "application/json", "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet", "zip": "application/zip", "openai_evals": "application/x-ndjson", "inspect": "application/x-ndjson",
}  # fmt: skip
ENDINGS = {"openai_evals": "jsonl", "inspect": "jsonl"}


def template(name: str) -> bytes:
    """Raises FileRefused when this server can't write the format, KeyError for an unknown one."""
    if name in ("csv", "tsv"):
        return _delimited("," if name == "csv" else "\t")
    if name == "json":
        return msgspec.json.format(msgspec.json.encode({"tasks": ROWS}))
    if name in ("parquet", "zip"):
        return _parquet() if name == "parquet" else _zip()
    return _lines({"jsonl": ROWS, "openai_evals": EVALS, "inspect": SAMPLES}[name])


def _lines(rows: list[dict[str, object]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _delimited(delimiter: str) -> bytes:

    target = io.StringIO()
    writer = csv.writer(target, delimiter=delimiter, lineterminator="\n")
    writer.writerow(ROWS[0])
    writer.writerows(_flat(row).values() for row in ROWS)
    return target.getvalue().encode()


def _flat(row: dict[str, object]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in row.items()}


def _parquet() -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FileRefused("This server writes no Parquet: install Proctor with the extra 'parquet'") from None
    target = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([_flat(row) for row in ROWS]), target)
    return target.getvalue()


def _zip() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FOLDER.items():
            archive.writestr(name, text)
    return target.getvalue()
