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
    lines = sorted(kept.values(), key=lambda line: (line["id"][1:].zfill(4), line["db"], line["what"]))
    KEPT.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    made = table([line for line in lines if not line.get("at")]) + curves([line for line in lines if line.get("at")])
    PAGE.write_text(before + BEGIN + "\n" + made + END + rest.partition(END)[2])


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def key(line: dict[str, Any]) -> tuple[str, str, str, str]:
    return line["id"], line["what"].split(";")[0], line["db"], line.get("at", "")


def table(lines: list[dict[str, Any]]) -> str:
    rows = [
        "| # | measure | database | value (min–max), n | floor | k | goal here | ratio | ok | load | day, commit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*rows, *(row(line) for line in lines)]) + "\n"


def curves(lines: list[dict[str, Any]]) -> str:
    """A row a measure, a column a place on the curve; in brackets the ratio to the goal there."""
    by_place = {(key(line)[:2], line["at"]): line for line in lines}
    if not lines:
        return ""
    places = sorted({line["at"] for line in lines}, key=lambda at: (at.startswith("version"), int("".join(filter(str.isdigit, at)))))
    shown = ["", f"| # | curve, postgres | {' | '.join(places)} |", "|---" * (len(places) + 2) + "|"]
    for measure in dict.fromkeys(key(line)[:2] for line in lines):
        cells = [point(by_place.get((measure, at))) for at in places]
        shown.append(f"| {measure[0]} | {measure[1]} | {' | '.join(cells)} |")
    days = sorted({f"{line['day']}, {line['commit']}" for line in lines})
    return "\n".join([*shown, "", f"The curves were taken on {'; '.join(days)}."]) + "\n"


def point(line: dict[str, Any] | None) -> str:
    if line is None:
        return ""
    return f"{short(line['value'])} {line['unit']} ({line['ratio']:.2f}{'' if line['ok'] else ', **over**'})"


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
