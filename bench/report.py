"""Writes the table of docs/reference/performance.md from JSON lines: `make bench | .venv/bin/python -m bench.report`.

Lines on stdin replace those of the same measure in docs/reference/performance.jsonl, which the table is made from; the words around the
table stay.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs/reference"
PAGE, KEPT = FOLDER / "performance.md", FOLDER / "performance.jsonl"
BEGIN, END = "<!-- table: made by bench/report.py -->", "<!-- end of table -->"


def main() -> None:
    kept = {key(line): line for line in read(KEPT.read_text() if KEPT.exists() else "")}
    fresh = read(sys.stdin.read())
    kept.update({key(line): {"day": time.strftime("%Y-%m-%d"), **line} for line in fresh})
    lines = sorted(kept.values(), key=lambda line: (int(line["id"][1:]), line["db"], line["what"]))
    KEPT.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table(lines) + END + rest.partition(END)[2])


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def key(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["id"], line["what"].split(";")[0], line["db"]


def table(lines: list[dict[str, Any]]) -> str:
    rows = [
        "| # | measure | database | value (min–max), n | floor | k | goal here | ratio | ok | load | day, commit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*rows, *(row(line) for line in lines)]) + "\n"


def row(line: dict[str, Any]) -> str:
    unit, values = line["unit"], line["values"]
    value = f"{short(line['value'])} {unit} ({short(min(values))}–{short(max(values))}), {line['n']}"
    floor = "" if line["floor"] is None else short(line["floor"])
    goal, judged = f"{short(line['must'] * line['k'])} {unit}", "yes" if line["ok"] else "**no**"
    ok = judged if line["db"] == "postgres" else f"({judged})"
    cells = [
        line["id"],
        line["what"],
        line["db"],
        value,
        floor,
        short(line["k"]),
        goal,
        f"{line['ratio']:.2f}",
        ok,
        short(line["load1"]),
        f"{line['day']}, {line['commit']}",
    ]
    return f"| {' | '.join(cells)} |"


def short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


if __name__ == "__main__":
    main()
